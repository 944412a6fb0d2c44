/**
 * `npm run docs:screenshots`: makes the pictures of docs/console from the demonstration. Names of pictures as arguments:
 * only these.
 */

import assert from 'node:assert/strict';
import { mkdirSync, statSync } from 'node:fs';
import { openBrowser } from '../support/browser.ts';
import { findChromium, type Chromium } from '../support/chromium.ts';
import { startService, type TestService } from '../support/service.ts';

const folder = 'docs/console';
const bytesMax = 100_000;

type Shot = {
  readonly name: string;
  /** The page, or a link of a page to follow. */
  readonly path: string;
  readonly follow?: string;
  readonly theme: 'light' | 'dark';
  readonly device: 'desktop' | 'phone';
};

const shots: readonly Shot[] = [
  { name: 'today', path: '/today', theme: 'light', device: 'desktop' },
  { name: 'today-dark', path: '/today', theme: 'dark', device: 'desktop' },
  { name: 'cards', path: '/cards', theme: 'light', device: 'desktop' },
  {
    name: 'card',
    path: '/cards',
    follow: 'main td a[href^="/cards/"], main .lines a[href^="/cards/"]',
    theme: 'light',
    device: 'desktop',
  },
  { name: 'issue', path: '/cards/new', theme: 'light', device: 'desktop' },
  { name: 'till', path: '/till', theme: 'light', device: 'phone' },
  { name: 'till-dark', path: '/till', theme: 'dark', device: 'phone' },
  { name: 'till-day', path: '/till/day', theme: 'light', device: 'phone' },
  { name: 'staff', path: '/staff', theme: 'light', device: 'desktop' },
];

const viewports = {
  desktop: { width: 1280, height: 900 },
  phone: { width: 390, height: 780, deviceScaleFactor: 2, hasTouch: true },
} as const;

async function take(chromium: Chromium, service: TestService, shot: Shot): Promise<void> {
  const browser = openBrowser(service);
  const { status, text } = await browser.post('/demonstration', { cards: 'yes' });
  assert.equal(status, 303, text);
  await using window = await chromium.window(service, {
    as: browser,
    viewport: viewports[shot.device],
    colorScheme: shot.theme,
  });
  assert.equal(await window.open(shot.path), 200, shot.path);
  if (shot.follow !== undefined)
    await Promise.all([window.page.waitForNavigation(), window.page.click(shot.follow)]);
  await window.page.evaluate(() => document.fonts.ready);
  const path = `${folder}/${shot.name}.webp` as const;
  await window.page.screenshot({ path, type: 'webp', quality: 80 });
  assert.ok(statSync(path).size <= bytesMax, `${path} is larger than ${bytesMax} bytes`);
}

process.env['TEST_ENGINE'] ??= 'sqlite';
mkdirSync(folder, { recursive: true });
await using chromium = await findChromium();
assert.ok(chromium, 'no Chrome or Chromium runs on this machine');
await using service = await startService();
const names = process.argv.slice(2);
for (const shot of shots.filter(({ name }) => names.length === 0 || names.includes(name)))
  await take(chromium, service, shot);
assert.deepEqual(chromium.takeComplaints(), []);
