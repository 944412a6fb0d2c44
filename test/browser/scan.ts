/** Reads QR codes on pages, as a scanner does. */

import assert from 'node:assert/strict';
import jsQr from 'jsqr';
import type { Page } from '../support/chromium.ts';

/** The text of the QR code in an element; undefined: there is none that can be read. The browser decodes the screenshot. */
export async function scan(page: Page, selector: string): Promise<string | undefined> {
  const element = (await page.$(selector)) ?? assert.fail(selector);
  return await scanPicture(page, await element.screenshot({ encoding: 'base64' }));
}

/** The text of the QR code in a PNG file. */
export async function scanPicture(page: Page, png: string): Promise<string | undefined> {
  const { pixels, width, height } = await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (symbol) => symbol.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    // A white margin, as paper has.
    const margin = 40;
    const scale = Math.min(1, 600 / image.width);
    const [imageWidth, imageHeight] = [Math.round(image.width * scale), Math.round(image.height * scale)];
    const canvas = new OffscreenCanvas(imageWidth + 2 * margin, imageHeight + 2 * margin);
    const context = canvas.getContext('2d');
    if (!context) throw new Error('no canvas');
    context.fillStyle = '#fff';
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, margin, margin, imageWidth, imageHeight);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    return { pixels: [...data], width: canvas.width, height: canvas.height };
  }, png);
  return jsQr.default(Uint8ClampedArray.from(pixels), width, height)?.data;
}
