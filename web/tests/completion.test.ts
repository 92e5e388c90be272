import assert from 'node:assert/strict';
import test from 'node:test';
import { suggest } from '../src/completion.ts';

// Answers requests by method, and keeps them.
function serve(answers: Record<string, unknown>): { method: string; body: Record<string, unknown> }[] {
  const requests: { method: string; body: Record<string, unknown> }[] = [];
  globalThis.fetch = (url, init) => {
    const method = String(url).replace('/api/v1/', '');
    requests.push({ method, body: JSON.parse(String(init?.body)) as Record<string, unknown> });
    return Promise.resolve(new Response(JSON.stringify(answers[method] ?? {})));
  };
  return requests;
}

test('words are searched by the aggregator, in its order', async () => {
  const requests = serve({
    find: {
      found: [
        { kind: 'KIND_COUNTER', path: '\\Processor Information(*)\\% Processor Time', unit: '%', help: 'Busy.' },
        { kind: 'KIND_INSTANCE', path: '\\Process V2(nginx:*)\\*', help: 'Process V2, web-1' },
        { kind: 'KIND_MACHINE', path: '\\\\web-1' },
      ],
    },
  });
  const suggestions = await suggest('cpu usage');
  assert.deepEqual(requests, [{ method: 'find', body: { words: 'cpu usage', maxResults: 50 } }]);
  assert.deepEqual(suggestions.map(({ text, isComplete }) => [text, isComplete]), [
    ['\\Processor Information(*)\\% Processor Time', true],
    ['\\Process V2(nginx:*)\\', false],
    ['\\\\web-1\\', false],
  ]);
  assert.equal(suggestions[0].detail, '% · Busy.');
});

test('names of instances are found, also those of a counterset that is not collected', async () => {
  const countersets = { countersets: [{ name: 'Disk', hasInstances: true }, { name: 'Fan', hasInstances: true }] };
  const requests = serve({
    countersets,
    instances: { instances: [{ name: 'Fan 1' }, { name: 'Fan 2' }] },
    find: { found: [{ name: 'sda#1' }] },
  });
  assert.deepEqual((await suggest('\\Disk(sd')).map(({ text }) => text), ['\\Disk(sda[#]1)\\']);
  assert.deepEqual(requests.at(-1), { method: 'find', body: { words: 'sd', counterset: 'Disk', machine: '', maxResults: 50 } });
  serve({ countersets, instances: { instances: [{ name: 'Fan 1' }, { name: 'Fan 2' }] } });
  assert.deepEqual((await suggest('\\Fan(2')).map(({ text }) => text), ['\\Fan(Fan 2)\\']);
});
