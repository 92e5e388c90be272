// Takes pictures of the page over the mock server, to be looked at.
//
//   node screenshots.mjs [NAME...]
import { mkdirSync } from 'node:fs';
import { startMock } from '../../web/mock/server.mjs';
import { startBrowser } from './browser.mjs';

const CPU = '%5CProcessor+Information(_Total)%5C%25+Processor+Time';
const SIZES = { desktop: [1440, 900], phone: [400, 850], '4k': [3840, 2160] };

// name, address, size, scheme, machines, what to do first
const SHOTS = [
  ['explore_light', `#/explore?path=${CPU}&top=6&since=1h`, 'desktop', 'light'],
  ['explore_dark', `#/explore?path=${CPU}&path=%5CMemory%5CAvailable+Bytes&machine=*-000?&since=1h`, 'desktop', 'dark'],
  ['explore_gap', `#/explore?path=%5C%5Cdb-0001${CPU}&since=1h`, 'desktop', 'light', (page) => page.locator('.u-over').first().click({ position: { x: 500, y: 100 } })],
  ['explore_phone', `#/explore?path=${CPU}&top=6&since=1h`, 'phone', 'light'],
  ['explore_empty', '#/explore', 'desktop', 'light'],
  ['explore_error', '#/explore?path=%5CProcesor(*)%5C%25+Processor+Time', 'desktop', 'dark'],
  ['explore_completion', '#/explore', 'desktop', 'light', async (page) => {
    await page.locator('input.path').pressSequentially('disk read', { delay: 20 });
    await page.locator('.suggestions li').first().waitFor();
    await page.keyboard.press('ArrowDown');
  }],
  ['explore_table', `#/explore?path=${CPU}&top=6&since=1h&view=table`, 'desktop', 'light', (page) => page.locator('.virtual-table').scrollIntoViewIfNeeded()],
  ['explore_live', `#/explore?path=${CPU}&machine=*-0001&since=5m&live=1`, 'desktop', 'dark'],
  ['fleet_light', '#/fleet', 'desktop', 'light'],
  ['fleet_dark', '#/fleet?sort=value', 'desktop', 'dark'],
  ['fleet_filter', '#/fleet?filter=role%3Ddb+oslo', 'desktop', 'light'],
  ['fleet_table', '#/fleet?view=table&sort=state', 'desktop', 'light'],
  ['fleet_phone', '#/fleet', 'phone', 'dark'],
  ['fleet_4k', '#/fleet', '4k', 'dark'],
  ['machine_light', '#/machine/web-0001', 'desktop', 'light'],
  ['machine_dark', '#/machine/db-0001?since=1h', 'desktop', 'dark'],
  ['machine_phone', '#/machine/web-0001', 'phone', 'light'],
  ['machine_4k', '#/machine/web-0001', '4k', 'light'],
];

const wanted = process.argv.slice(2);
mkdirSync(new URL('screenshots', import.meta.url), { recursive: true });
const mock = await startMock({ machines: Number(process.env.MACHINES ?? 10_000) });
const browser = await startBrowser();
for (const [name, address, size, colorScheme, act] of SHOTS) {
  if (wanted.length > 0 && !wanted.some((one) => name.startsWith(one))) continue;
  const [width, height] = SIZES[size];
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, timezoneId: 'Europe/Berlin' });
  const page = await context.newPage();
  page.on('console', (message) => console.log(`${name}: ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => console.log(`${name}: ${error.stack}`));
  await page.goto(`${mock.url}/${address}`);
  await page.locator('.u-over, canvas, .catalogue dt, .problem:not([hidden]), .virtual-table').first().waitFor();
  await page.waitForTimeout(1200);
  if (act !== undefined) {
    await act(page);
    await page.waitForTimeout(500);
  }
  await page.screenshot({ path: new URL(`screenshots/${name}.png`, import.meta.url).pathname,
    fullPage: process.env.FULL === '1' });
  await context.close();
}
await browser.close();
await mock.close();
