import assert from 'node:assert/strict';
import test from 'node:test';
import { formatAddress, parseAddress, type View } from '../src/address.ts';
import { EMPTY_QUESTION, InputError, canSubscribe, commandOf, isExpression, parseCondition, queryOf,
  rangeOf, stepOf } from '../src/question.ts';

const full: View = {
  page: 'explore',
  question: {
    paths: ['\\\\web-*\\PhysicalDisk(a b)\\Disk Bytes/sec', '100 - \\LogicalDisk(*)\\% Free Space'],
    since: '', start: '2026-11-20T21:00:00Z', end: '2026-11-20T22:00:00Z', step: '10s', over: 'max',
    agg: 'p95', by: ['machine', 'label:role'], top: '5', bottom: '', where: '>= 1.5 GiB',
    machine: 'web-*', labels: ['role=web', 'site=berlin & co'],
  },
  live: true,
  table: true,
};

test('an address holds the whole view', () => {
  const views: View[] = [
    full,
    { page: 'machine', name: 'a/b #1?\\ü', since: '1h' },
    { page: 'fleet', counter: '\\Memory\\Available Bytes', filter: 'role=web', sort: 'value', table: true },
    { page: 'fleet', counter: '', filter: '', sort: 'name', table: false },
  ];
  for (const view of views) assert.deepEqual(parseAddress(formatAddress(view)), view);
});

test('a broken address opens something', () => {
  for (const hash of ['', '#', '#/nonsense?x', '#/machine/', '#/fleet?sort=size']) {
    assert.equal(parseAddress(hash).page, 'fleet');
  }
  assert.deepEqual(parseAddress('#/machine/%E0%A4%A'), { page: 'machine', name: '%E0%A4%A', since: '' });
});

test('a question becomes a request', () => {
  assert.equal(full.page, 'explore');
  if (full.page !== 'explore') return;
  const now = Date.UTC(2026, 10, 27);
  const range = rangeOf(full.question, now, 'utc');
  const request = queryOf(full.question, range, stepOf(full.question, range, 600));
  assert.deepEqual(request, {
    paths: full.question.paths,
    machine: 'web-*',
    labels: { role: 'web', site: 'berlin & co' },
    startTime: '2026-11-20T21:00:00Z',
    endTime: '2026-11-20T22:00:00Z',
    step: '10s',
    over: 'OVER_MAXIMUM',
    top: 5,
    where: { comparison: 'COMPARISON_GREATER_OR_EQUAL', number: 1.5, unit: 'GiB' },
    aggregate: 'AGGREGATE_FUNCTION_P95',
    by: ['GROUPING_MACHINE'],
    byLabels: ['role'],
    withProgress: true,
  });
  assert.equal(commandOf(full.question, true),
    "fleetperf query '\\\\web-*\\PhysicalDisk(a b)\\Disk Bytes/sec' '100 - \\LogicalDisk(*)\\% Free Space' " +
    "--from 2026-11-20T21:00:00Z --to 2026-11-20T22:00:00Z --step 10s --over max --agg p95 --by machine " +
    "--by label:role --top 5 --where '>= 1.5 GiB' --machine 'web-*' --label role=web " +
    "--label 'site=berlin & co'");
});

test('mistakes name the field', () => {
  const range = { from: 0, to: 1000, isToNow: true };
  const cases: [Partial<typeof EMPTY_QUESTION>, string][] = [
    [{ where: 'big' }, 'where'], [{ by: ['machine'] }, 'by'], [{ agg: 'avg', by: ['colour'] }, 'by'],
    [{ top: '0' }, 'top'], [{ top: '3', bottom: '3' }, 'bottom'], [{ labels: ['role'] }, 'labels'],
  ];
  for (const [part, field] of cases) {
    assert.throws(() => queryOf({ ...EMPTY_QUESTION, ...part }, range, 1000),
      (error) => error instanceof InputError && error.field === field);
  }
  assert.throws(() => rangeOf({ ...EMPTY_QUESTION, since: 'long' }, 0, 'utc'), InputError);
  assert.deepEqual(parseCondition('<10ms'), { comparison: 'COMPARISON_LESS', number: 10, unit: 'ms' });
});

test('arithmetic is told from paths', () => {
  assert.equal(isExpression('\\PhysicalDisk(*)\\Disk Bytes/sec'), false);
  assert.equal(isExpression('\\Memory\\Free & Zero Page List Bytes'), false);
  assert.equal(isExpression('\\Process V2(*)\\Working Set - Private'), false);
  assert.equal(isExpression('100 - \\System\\Processes'), true);
  assert.equal(isExpression('\\Memory\\Available Bytes / 1024'), true);
  assert.equal(isExpression('(\\A\\B + \\A\\C) / 2'), true);
  assert.equal(canSubscribe({ ...EMPTY_QUESTION, paths: ['\\A\\B'] }), true);
  assert.equal(canSubscribe({ ...EMPTY_QUESTION, paths: ['\\A\\B'], agg: 'sum' }), false);
});
