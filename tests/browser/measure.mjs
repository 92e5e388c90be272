// Measures the page over the mock server: the load of a fleet, and the script
// time of animation frames.
//
//   node measure.mjs
import { startMock } from '../../web/mock/server.mjs';
import { startBrowser } from './browser.mjs';

const CPU = '\\Processor Information(_Total)\\% Processor Time';
const LIVE_SECONDS = 20;

// Returns the processor times in ms of the page's tasks with script: frames, timers
// and arriving data.
async function scriptTimes(page, work) {
  const session = await page.context().newCDPSession(page);
  const events = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['devtools.timeline'], excludedCategories: ['*'] },
  });
  await work();
  const done = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await done;
  const scripts = events.filter((event) => event.ph === 'X' &&
    ['FireAnimationFrame', 'FunctionCall', 'TimerFire', 'EvaluateScript', 'RunMicrotasks', 'v8.callFunction'].includes(event.name));
  // Events inside another one are part of it.
  scripts.sort((a, b) => a.ts - b.ts || b.dur - a.dur);
  const tops = new Map();
  for (const event of scripts) {
    const end = tops.get(event.tid);
    if (end !== undefined && event.ts < end.until) continue;
    tops.set(event.tid, { until: event.ts + event.dur });
    (tops.all ??= []).push(event);
  }
  const of = (names) => (tops.all ?? []).filter((event) => names.includes(event.name))
    .map((event) => (event.tdur ?? event.dur) / 1000).sort((a, b) => a - b);
  return { frames: of(['FireAnimationFrame']), all: of(scripts.map((event) => event.name)) };
}

function describe(times) {
  if (times.length === 0) return 'none';
  const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))].toFixed(2);
  return `${times.length}, median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`;
}

const mock = await startMock({ machines: 10_000 });
const browser = await startBrowser();
const open = async () => (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();

const fleet = await open();
const begin = Date.now();
await fleet.goto(`${mock.url}/#/fleet`);
const paints = await fleet.evaluate(() => new Promise((resolve) => {
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.name === 'first-contentful-paint') resolve(entry.startTime);
  }).observe({ type: 'paint', buffered: true });
}));
await fleet.getByText('10,000 machines').waitFor();
console.log(`first picture: ${paints.toFixed(0)} ms; 10,000 machines listed after ${Date.now() - begin} ms`);
await fleet.getByText('live', { exact: true }).waitFor();
await fleet.getByRole('listbox', { name: 'Machines' }).focus();
const moves = await scriptTimes(fleet, async () => {
  for (let i = 0; i < 60; ++i) await fleet.keyboard.press(i % 2 === 0 ? 'ArrowDown' : 'ArrowRight');
});
console.log(`frames of moving over 10,000 tiles: ${describe(moves.frames)}`);
const values = await scriptTimes(fleet, () => fleet.waitForTimeout(LIVE_SECONDS * 1000));
console.log(`10,000 tiles for ${LIVE_SECONDS} s: frames ${describe(values.frames)}; all scripts ${describe(values.all)}`);
await fleet.close();

for (const since of ['5m', '15m']) {
  const chart = await open();
  const question = new URLSearchParams({ path: CPU, top: '50', since, step: '1s', live: '1' });
  await chart.goto(`${mock.url}/#/explore?${question}`);
  await chart.getByText('live', { exact: true }).waitFor();
  await chart.locator('.legend tbody tr').nth(49).waitFor();
  const live = await scriptTimes(chart, () => chart.waitForTimeout(LIVE_SECONDS * 1000));
  console.log(`50 live series of ${since}, a value a second, for ${LIVE_SECONDS} s: ` +
    `frames ${describe(live.frames)}; all scripts ${describe(live.all)}`);
  await chart.close();
}

await browser.close();
await mock.close();
