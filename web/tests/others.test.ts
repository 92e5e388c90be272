import assert from 'node:assert/strict';
import test from 'node:test';
import { linkTo } from '../src/others.ts';

test('a link to another page opens the same view', () => {
  assert.deepEqual(linkTo({ aggregator: 'agg-2.example:7443', page: 'https://agg-2.example:7445' }, '#/machine/web-1'),
    { text: 'agg-2.example', href: 'https://agg-2.example:7445/#/machine/web-1' });
  assert.deepEqual(linkTo({ aggregator: '[::1]:7443', page: 'https://agg.example' }, ''),
    { text: '[::1]', href: 'https://agg.example/' });
});

test('an aggregator without a page has no link', () => {
  assert.equal(linkTo({ aggregator: 'agg-2.example:7443' }, '#/fleet'), undefined);
});
