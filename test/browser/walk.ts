/** Steps of a walk through the pages in a browser. */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
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

/**
 * Downloads a file into an empty folder, and waits until it is complete: the browser creates the file before it has its
 * content. @returns its path.
 */
export async function downloadTo(page: Page, folder: string, start: () => Promise<void>): Promise<string> {
  const client = await page.createCDPSession();
  const { id: browserContextId } = page.browserContext();
  await client.send('Browser.setDownloadBehavior', {
    behavior: 'allow',
    downloadPath: folder,
    eventsEnabled: true,
    ...(browserContextId !== undefined && { browserContextId }),
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  client.on('Browser.downloadProgress', ({ state }) => {
    if (state === 'completed') resolve();
    if (state === 'canceled') reject(new Error('the browser has cancelled the download'));
  });
  await start();
  await promise;
  await client.detach();
  const [name, ...others] = readdirSync(folder);
  assert.ok(name !== undefined && others.length === 0, 'there is not one file');
  return join(folder, name);
}
