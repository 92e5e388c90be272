// Drives the web page in a browser. target.mjs says against what.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, test } from 'node:test';
import { startBrowser } from './browser.mjs';
import { startTarget } from './target.mjs';

const CPU = '\\Processor Information(_Total)\\% Processor Time';
// Longer than any interval at which the page looks again.
const PATIENCE_MS = 60_000;

let target;
let browser;
let context;
let page;
// What the browser's console says. Tests remove what they provoke.
let messages = [];
let machine;

before(async () => {
  target = await startTarget();
  browser = await startBrowser();
  context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 }, acceptDownloads: true });
  context.setDefaultTimeout(PATIENCE_MS);
  page = await openPage();
  await openFromMail(page, target.link);
  await page.getByText(/^[\d,]+ machines?$/).waitFor();
  const names = await post('machines', { pageSize: 1 });
  machine = target.machine ?? names.machines[0].name;
});

after(async () => {
  await browser?.close();
  await target?.close();
});

afterEach(() => {
  assert.deepEqual(messages, [], 'the console has messages');
  messages = [];
});

async function openPage() {
  const opened = await context.newPage();
  opened.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') messages.push(message.text());
  });
  opened.on('pageerror', (error) => messages.push(String(error)));
  return opened;
}

// Follows a link on a page of another site, as in a web mail.
async function openFromMail(from, link) {
  await from.route('http://mail.example/', (route) => route.fulfill({ contentType: 'text/html', body: `<a href="${link}">log in</a>` }));
  await from.goto('http://mail.example/');
  await from.getByText('log in').click();
}

// Calls the server as the page does.
function post(method, body) {
  return page.evaluate(async ([to, request]) => {
    const response = await fetch(`/api/v1/${to}`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(request),
    });
    return response.json();
  }, [method, body]);
}

async function go(hash, on = page) {
  await on.goto(`${target.url}/${hash}`);
}

function exploreAddress(parameters) {
  return `#/explore?${new URLSearchParams(parameters)}`;
}

// The number of colors on the canvas of a chart: axes have few, lines add more.
function colorsOf(canvas) {
  return canvas.evaluate((element) => {
    const { data } = element.getContext('2d').getImageData(0, 0, element.width, element.height);
    const colors = new Set();
    for (let i = 0; i < data.length; i += 4) colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return colors.size;
  });
}

// The times of the rows in view, newest first.
function shownTimes() {
  return page.locator('.virtual-table tbody tr:not(.spacer) td:first-child').allTextContents();
}

function newerThan(time) {
  return page.waitForFunction((text) =>
    document.querySelector('.virtual-table tbody tr:not(.spacer) td')?.textContent > text, time);
}

// Machines of the mock have a value each second: none is missing or repeated.
function assertEachSecond(times) {
  const seconds = times.map((text) => Date.parse(text.replace(' ', 'T')) / 1000);
  assert.ok(seconds.length > 20, `${seconds.length} rows`);
  assert.deepEqual(seconds, seconds.map((_, i) => seconds[0] - i));
}

test('a visitor without identity is refused', async () => {
  const stranger = await browser.newContext({ ignoreHTTPSErrors: true });
  const response = await stranger.request.post(`${target.url}/api/v1/machines`, {
    data: {}, headers: { 'Content-Type': 'application/json' },
  });
  assert.equal(response.status(), 401);
  assert.equal((await response.json()).error.code, 'UNAUTHENTICATED');
  const root = await stranger.request.get(`${target.url}/`);
  assert.match(await root.text(), /fleetperf web login/);
  await stranger.close();
});

test('a machine is found by its name, with the keyboard', async () => {
  await go('#/fleet');
  await page.getByRole('searchbox').fill(machine);
  await page.getByText(/^\d+ of [\d,]+ machines?$|^1 machine$/).waitFor();
  await page.getByRole('listbox', { name: 'Machines' }).focus();
  await page.getByRole('option').filter({ hasText: `${machine}, connected` }).waitFor({ state: 'attached' });
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: machine }).waitFor();
  await page.getByRole('heading', { name: 'Processor time' }).waitFor();
});

test('the table shows the same machines', async () => {
  await go(`#/fleet?view=table&filter=${encodeURIComponent(machine)}`);
  const table = page.getByRole('table', { name: 'Machines' });
  await table.getByRole('cell', { name: machine, exact: true }).waitFor();
  await table.getByText(/\d %$/).first().waitFor();
  await page.getByRole('region', { name: 'Machines' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1 }).waitFor();
});

test('a machine has panels, processes and live values', async () => {
  await go(`#/machine/${encodeURIComponent(machine)}`);
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'Memory' }).waitFor();
  await page.locator('.processes li').nth(2).waitFor();
  assert.ok(await colorsOf(page.locator('.chart canvas').first()) > 20);
});

test('words find a path, and it is drawn', async () => {
  await go('#/explore');
  const field = page.getByRole('combobox', { name: 'Path or expression' });
  await field.pressSequentially('memory available bytes');
  await page.locator('.suggestions li').first().filter({ hasText: '\\Memory\\Available Bytes' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.locator('.legend tbody tr').first().waitFor();
  assert.match(page.url(), /path=%5CMemory%5CAvailable\+/);
  assert.ok(await colorsOf(page.locator('.chart canvas').first()) > 20);
});

test('a path is completed step by step', async () => {
  await go('#/explore');
  const field = page.getByRole('combobox', { name: 'Path or expression' });
  const options = page.getByRole('option');
  await field.pressSequentially('\\processor inf');
  await options.filter({ hasText: 'Processor Information' }).first().waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Tab');
  await options.filter({ hasText: '_Total' }).first().waitFor();
  await field.pressSequentially('_total');
  await options.filter({ hasText: /^_Total/ }).first().click();
  await options.filter({ hasText: '% Processor Time' }).first().waitFor();
  assert.equal(await field.inputValue(), '\\Processor Information(_Total)\\');
});

test('a typing error is answered with the server\'s suggestion', async () => {
  await go(exploreAddress({ path: '\\Procesor Information(_Total)\\% Processor Time' }));
  await page.getByRole('alert').filter({ hasText: 'Processor Information' }).waitFor();
  // The browser reports the answer's status by itself.
  messages = messages.filter((message) => !/status of 40[04]/.test(message));
});

test('a mistake in a field is said beside it', async () => {
  await go(exploreAddress({ path: CPU, where: 'large' }));
  await page.getByRole('alert').filter({ hasText: '"large" is not >' }).waitFor();
});

test('a condition that no series satisfies is answered with a sentence', async () => {
  await go(exploreAddress({ path: CPU, where: '> 1000000' }));
  await page.getByText('No series has a value that is > 1000000 in this time.').waitFor();
});

test('a live chart is followed', async () => {
  await go(exploreAddress({ path: `\\\\${machine}${CPU}`, since: '5m', step: '1s', live: '1', view: 'table' }));
  await page.getByText('live', { exact: true }).waitFor();
  const newest = page.locator('.virtual-table tbody tr:not(.spacer) td').first();
  const seen = await newest.textContent();
  await newerThan(seen);
  if (target.mock !== undefined) assertEachSecond(await shownTimes());
});

test('arithmetic and groups are drawn, and asked again while live', async () => {
  await go(exploreAddress({ path: `100 - ${CPU}`, agg: 'avg', since: '5m', live: '1' }));
  await page.locator('.legend tbody tr').first().waitFor();
  await page.getByText(/^every \d+ s$/).waitFor();
});

test('a shared link shows the same', async () => {
  await go(exploreAddress({ path: CPU, since: '1h', step: '1m', over: 'max', top: '3' }));
  await page.locator('.legend tbody tr').first().waitFor();
  const other = await openPage();
  await other.goto(page.url());
  await other.locator('.legend tbody tr').first().waitFor();
  assert.equal(await other.getByRole('combobox', { name: 'Path or expression' }).inputValue(), CPU);
  assert.match(await other.locator('.options summary').textContent(), /step 1m · top 3 · over max/);
  assert.match(await other.locator('p.summary').first().textContent(), /one value per 1m/);
  await other.close();
});

test('dragging zooms, back and a double click return', async () => {
  // A new aggregator has seconds, at the right end.
  await go(exploreAddress({ path: CPU, since: '2m', top: '3' }));
  await page.locator('.legend tbody tr').first().waitFor();
  const whole = /since=2m(?!.*start=)/;
  const drag = async () => {
    const box = await page.locator('.u-over').first().boundingBox();
    await page.mouse.move(box.x + box.width * 0.4, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.99, box.y + 80, { steps: 5 });
    await page.mouse.up();
    await page.waitForURL(/start=.*end=/);
    await page.locator('.legend tbody tr').first().waitFor();
  };
  await drag();
  await page.goBack();
  await page.waitForURL(whole);
  await page.locator('.legend tbody tr').first().waitFor();
  await drag();
  await page.locator('.u-over').first().dblclick({ position: { x: 200, y: 50 } });
  await page.waitForURL(whole);
});

test('a chart is read, zoomed and explained with the keyboard', async () => {
  await go(exploreAddress({ path: `\\\\${machine}${CPU}`, since: '15m' }));
  await page.locator('.legend tbody tr').first().waitFor();
  await page.locator('.chart-plot').focus();
  await page.keyboard.press('ArrowLeft');
  await page.locator('[aria-live=polite]').filter({ hasText: /%.*:\d\d/ }).waitFor({ state: 'attached' });
  await page.keyboard.press('Enter');
  await page.getByText('PerfTime100NSec').first().waitFor();
  await page.getByText('arithmetic').waitFor();
  await page.locator('.chart-plot').focus();
  await page.keyboard.press('+');
  await page.waitForURL(/start=/);
});

test('a chart is saved as a picture and as CSV', async () => {
  await go(exploreAddress({ path: CPU, since: '15m', top: '2' }));
  await page.locator('.legend tbody tr').first().waitFor();
  const saved = async (name) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
    return readFile(await download.path());
  };
  assert.match((await saved('CSV')).toString(),
    /^machine,path,time,value,status,unit,cause,breaks,coverage,presence\r\n[^,]+,\\Processor Information\(_Total\)\\% Processor Time,\d{4}-/);
  assert.equal((await saved('PNG')).subarray(1, 4).toString(), 'PNG');
});

test('the same view at another aggregator is one link away', async (t) => {
  if (target.mock === undefined) return t.skip('only the mock names another aggregator');
  await go('#/fleet?sort=state');
  const link = page.getByRole('link', { name: 'agg-2.example' });
  await link.waitFor();
  assert.equal(await link.getAttribute('href'), 'https://agg-2.example:7445/#/fleet?sort=state');
  await go('#/explore');
  await page.waitForFunction(() => document.querySelector('.others a')?.href === 'https://agg-2.example:7445/#/explore');
  return undefined;
});

test('a gap leads to its counter and time at another aggregator', async (t) => {
  if (target.mock === undefined) return t.skip('only the mock names another aggregator');
  const to = Math.floor(Date.now() / 1000) * 1000 - 60_000;
  target.mock.setOutage(to - 300_000, to);
  await go(exploreAddress({ path: `\\\\${machine}${CPU}`, since: '15m', step: '1s' }));
  const link = page.locator('.gap-links').getByRole('link', { name: 'agg-2.example' });
  await link.waitFor();
  const [address, query] = (await link.getAttribute('href')).split('?');
  assert.equal(address, 'https://agg-2.example:7445/#/explore');
  const second = (ms) => new Date(ms).toISOString().replace('.000Z', 'Z');
  assert.deepEqual([...new URLSearchParams(query)], [['path', `\\\\${machine}${CPU}`],
    ['start', second(to - 300_000)], ['end', second(to + 1000)]]);
  // The page of the machine has it, too, below the chart of this counter.
  await go(`#/machine/${encodeURIComponent(machine)}`);
  await page.locator('.gap-links').first().getByRole('link', { name: 'agg-2.example' }).waitFor();
  target.mock.setOutage(0, 0);
  return undefined;
});

test('the theme and the zone are chosen once', async () => {
  await go('#/explore');
  await page.getByRole('combobox', { name: 'Theme' }).selectOption('dark');
  await page.getByRole('combobox', { name: 'Time zone' }).selectOption('utc');
  await page.reload();
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
  assert.equal(await page.getByRole('combobox', { name: 'Time zone' }).inputValue(), 'utc');
  await page.getByRole('combobox', { name: 'Theme' }).selectOption('auto');
  await page.getByRole('combobox', { name: 'Time zone' }).selectOption('local');
});

test('an agent that dies and returns is seen', async (t) => {
  if (!target.canKill) return t.skip('FLEETPERF_WEB_KILL is not set');
  await go(`#/machine/${encodeURIComponent(machine)}`);
  const state = page.locator('.machine-state');
  await state.filter({ hasText: /^connected/ }).waitFor();
  target.kill(machine);
  await state.filter({ hasText: /^(missing|away), newest sample/ }).waitFor();
  target.revive(machine);
  await state.filter({ hasText: /^connected/ }).waitFor();
  // Its values go on, after a gap.
  await go(exploreAddress({ path: `\\\\${machine}${CPU}`, since: '5m', step: '1s', view: 'table' }));
  await page.locator('.virtual-table').getByText(/gap/).first().waitFor();
  return undefined;
});

test('a machine that is away is not live', async (t) => {
  if (target.mock === undefined) return t.skip('only the mock has machines that died');
  target.mock.kill(machine, Date.now() - 120_000);
  await go(`#/machine/${encodeURIComponent(machine)}`);
  await page.locator('.badge').filter({ hasText: /^newest value 2m\d+s ago$/ }).waitFor();
  await page.locator('.processes .summary')
    .filter({ hasText: /^No current values: these are the newest, 2m\d+s ago\.$/ }).waitFor();
  await page.locator('.processes li').nth(2).waitFor();
  target.mock.revive(machine);
  await page.getByText('live', { exact: true }).waitFor();
  return undefined;
});

test('a lost connection is said and made again', async (t) => {
  if (target.mock === undefined) return t.skip('only the mock can be switched off');
  await go(exploreAddress({ path: `\\\\${machine}${CPU}`, since: '2m', step: '1s', live: '1', view: 'table' }));
  await page.getByText('live', { exact: true }).waitFor();
  target.mock.setDown(true);
  await page.getByText(/^not connected: next attempt in \d+ s$/).waitFor();
  const [last] = await shownTimes();
  target.mock.setDown(false);
  await page.getByText('live', { exact: true }).waitFor();
  await newerThan(last);
  assertEachSecond(await shownTimes());
  messages = messages.filter((message) => !message.includes('net::ERR'));
  return undefined;
});

test('an ended session says how to log in', async (t) => {
  if (target.mock === undefined) return t.skip('only the mock can end a session');
  await go('#/fleet');
  target.mock.endSession();
  await go(exploreAddress({ path: CPU }));
  await page.getByText('The session has ended.').waitFor();
  await page.getByText('fleetperf web login').first().waitFor();
  messages = messages.filter((message) => !message.includes('status of 401'));
  return undefined;
});
