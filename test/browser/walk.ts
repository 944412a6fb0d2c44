/** Steps of a walk through the pages in a browser. */

import assert from 'node:assert/strict';
import type { Page } from '../support/chromium.ts';

/** Returns the visible text. */
export async function textOf(page: Page): Promise<string> {
  return await page.evaluate(() => document.body.innerText.replace(/\s+/g, ' '));
}

/** Follows the link or presses the button with the text, and waits for the next page. */
export async function press(page: Page, text: string, shown: RegExp): Promise<void> {
  const target = `::-p-xpath(//*[self::a or self::button][normalize-space()='${text}'])`;
  await Promise.all([page.waitForNavigation(), page.click(target)]);
  assert.match(await textOf(page), shown, page.url());
}
