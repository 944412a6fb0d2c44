/** The till in a browser, for its tests. */

import assert from 'node:assert/strict';
import {
  typeAsScanner,
  type Chromium,
  type Page,
  type Window,
  type WindowOptions,
} from '../support/chromium.ts';
import type { LosingGateway } from '../support/losing-gateway.ts';

export const phone = { width: 390, height: 844, isMobile: true, hasTouch: true };
/** Reports of requests that the gateway loses, the pictures of the error page of the browser, and that of the worker. */
const lost = [
  /net::ERR_/,
  /^request to another origin: data:image\/png/,
  /^status 503: (?:GET|POST) \S+\/till/,
];

export async function goTo(page: Page, path: string): Promise<void> {
  await page.waitForFunction(
    (start) => location.pathname.startsWith(start) && document.readyState === 'complete',
    {},
    path,
  );
}

/** Returns the visible text. */
export async function textOf(page: Page): Promise<string> {
  return await page.$eval('main', (main) => main.innerText.replace(/\s+/g, ' '));
}

export async function showsText(page: Page, text: string): Promise<void> {
  await page.waitForFunction((part) => document.body.innerText.replace(/\s+/g, ' ').includes(part), {}, text);
}

/** Scans a card and types an amount on the keypad. */
export async function enter(page: Page, code: string, keys: string): Promise<void> {
  await typeAsScanner(page, code.toUpperCase());
  await goTo(page, '/till/card/');
  for (const key of keys) await page.tap(`[data-digit="${key}"]`);
}

/** A till behind a gateway that loses the requests to redeem. */
export async function openThroughGateway(
  chromium: Chromium,
  gateway: LosingGateway,
  options: WindowOptions,
): Promise<{ readonly window: Window; readonly page: Page }> {
  const window = await chromium.window(gateway, { viewport: phone, expected: lost, ...options });
  assert.equal(await window.open('/till'), 200);
  return { window, page: window.page };
}
