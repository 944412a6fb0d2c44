/** The preview of emails, which follows the fields of the form. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import test, { after } from 'node:test';
import { goBack, openChromium, type Page } from '../support/chromium.ts';
import { join, openStoreWithStaff } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { makeScratchFolder } from '../support/scratch.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());

/** Waits until the frame shows a text. */
async function waitForPreview(page: Page, text: string): Promise<void> {
  const isShown = async (): Promise<boolean> => {
    const found = await Promise.all(page.frames().map((frame) => frame.content().catch(() => '')));
    return found.slice(1).some((content) => content.includes(text));
  };
  await until(isShown);
}

test('the preview follows the fields, Back leaves the page, and without scripts a button updates it', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  await using window = await chromium.window(service, { as: owner });
  const { page } = window;
  await window.open('/settings');
  assert.equal(await window.open('/settings/emails'), 200);
  await waitForPreview(page, 'has a gift for you');
  await page.type('#from_name', 'Herbs & <i>more</i>');
  await waitForPreview(page, 'Herbs &amp; &lt;i&gt;more&lt;/i&gt;');
  await page.select('#email_language', 'ar');
  await waitForPreview(page, 'dir="rtl"');
  await page.select('#kind', 'receipt');
  await page.click('.row > .button.first');
  await page.waitForSelector('.notice.good');
  assert.equal(await page.$eval('#email_language', (field) => (field as HTMLSelectElement).value), 'ar');
  // Previews are not steps for Back.
  await goBack(page);
  assert.equal(page.url(), window.url('/settings/emails'));
  await goBack(page);
  assert.equal(page.url(), window.url('/settings'));

  // The wording: the preview shows the kind of email whose fields are filled in.
  assert.equal(await window.open('/settings/texts?language=he'), 200);
  await waitForPreview(page, '<html lang="he-US" dir="rtl"');
  await page.click('[data-kind="receipt"] > summary');
  await page.type('#receipt_closing', 'Line 1');
  await page.keyboard.press('Enter');
  await page.keyboard.type('{store} & <i>');
  await waitForPreview(page, 'Line 1<br><bdi>');
  await page.type('#receipt_subject', '{code}');
  await waitForPreview(page, 'Receipt, Subject: Braces are only for placeholders');

  await using plain = await chromium.window(service, { as: owner, javaScript: false });
  assert.equal(await plain.open('/settings/emails'), 200);
  await plain.page.select('#email_language', 'ja');
  await plain.page.click('button[formtarget="preview"]');
  await waitForPreview(plain.page, '<html lang="ja-');
});

test('the preview of a new card follows its fields, and is hidden for a printed card', async () => {
  await using service = await openStoreWithStaff();
  const cashier = await join(service, 'cashier');
  await using window = await chromium.window(service, { as: cashier });
  const { page } = window;
  assert.equal(await window.open('/cards/new'), 200);
  await waitForPreview(page, '$50.00');
  await page.type('#recipient_name', 'Emma');
  await waitForPreview(page, 'Emma');
  await page.click('input[name="amount"][value="other"]');
  await waitForPreview(page, 'Other amount:');
  await page.type('#other', '42.50');
  await waitForPreview(page, '$42.50');
  const isShown = () => page.$eval('iframe', (frame) => frame.checkVisibility());
  assert.equal(await isShown(), true);
  await page.click('input[name="how"][value="print"]');
  assert.equal(await isShown(), false);

  await using plain = await chromium.window(service, { as: cashier, javaScript: false });
  assert.equal(await plain.open('/cards/new'), 200);
  await plain.page.type('#sender_name', 'Paul');
  await plain.page.click('button[formtarget="preview"]');
  await waitForPreview(plain.page, 'Paul');
});

/** Waits for the sentence about the color of the field. */
async function waitForLegibility(page: Page, pattern: string): Promise<void> {
  await page.waitForFunction(
    (text) => new RegExp(text).test(document.querySelector('#legibility')?.textContent ?? ''),
    {},
    pattern,
  );
}

test('the sentence about the contrast follows the color that is typed or picked', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  await using window = await chromium.window(service, { as: owner });
  const { page } = window;
  assert.equal(await window.open('/settings'), 200);
  await waitForLegibility(page, '^Readable #1f4d3f .*9\\.6');
  await page.type('#color', '#777777');
  await waitForLegibility(page, '^Hard to read #777777 .*4\\.4');
  assert.ok(await page.$('#legibility .tag.bad'));
  // A part of a color has no sentence.
  await page.keyboard.press('Backspace');
  await waitForLegibility(page, '^$');
  await page.$eval('input[data-picks]', (picker) => {
    picker.value = '#6d2447';
    picker.dispatchEvent(new InputEvent('input', { bubbles: true }));
  });
  await waitForLegibility(page, '^Readable #6d2447 .*10\\.5');
  assert.equal(await page.$eval('#color', (field) => (field as HTMLInputElement).value), '#6d2447');
});

/** Chooses a PNG image of noise, which cannot be compressed, as the logo. @param side in pixels. */
async function chooseNoise(page: Page, side: number): Promise<number> {
  return await page.$eval(
    '#logo_file',
    async (field, length) => {
      const canvas = new OffscreenCanvas(length, length);
      const context = canvas.getContext('2d');
      if (!context || !(field instanceof HTMLInputElement)) return 0;
      const image = context.createImageData(length, length);
      for (let at = 0; at < image.data.length; at += 65_536)
        crypto.getRandomValues(image.data.subarray(at, at + 65_536));
      context.putImageData(image, 0, 0);
      const blob = await canvas.convertToBlob({ type: 'image/png' });
      const files = new DataTransfer();
      files.items.add(new File([blob], 'noise.png', { type: 'image/png' }));
      field.files = files.files;
      return blob.size;
    },
    side,
  );
}

test('a large logo is made smaller before it is sent', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  await using window = await chromium.window(service, { as: owner });
  const { page } = window;
  assert.equal(await window.open('/settings'), 200);
  assert.ok((await chooseNoise(page, 2_400)) > 10_000_000);
  const upload = 'form[data-shrinks] button';
  await Promise.all([page.waitForNavigation(), page.click(upload)]);
  assert.match(page.url(), /done=saved/);
  const text = await page.$eval('main', ({ innerText }) => innerText);
  const [, width = '', height = ''] = /logo has (\d+) × (\d+) pixels/.exec(text) ?? assert.fail(text);
  assert.ok(Number(width) >= 300 && Number(width) <= 1_200 && width === height, width);
});

test('without scripts, a logo that is too large has an error at its field', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  await using maker = await chromium.window(service, { as: owner });
  assert.equal(await maker.open('/settings'), 200);
  const folder = makeScratchFolder('logo-');
  const file = `${folder}/photo.jpg`;
  for (const size of [200_000, 8_000_000]) {
    writeFileSync(file, Buffer.alloc(size, 0xff));
    await using window = await chromium.window(service, { as: owner, javaScript: false });
    const { page } = window;
    assert.equal(await window.open('/settings'), 200);
    const field = await page.$('input#logo_file');
    await field?.uploadFile(file);
    const [response] = await Promise.all([page.waitForNavigation(), page.click('form[data-shrinks] button')]);
    assert.equal(response?.status(), 422, String(size));
    const error = await page.$eval('#logo_file-error', ({ textContent }) => textContent);
    assert.equal(error, 'The file has more than 100 kB. Choose a smaller one.');
    assert.equal(await page.$eval('h1', ({ textContent }) => textContent), 'Settings');
  }
  rmSync(folder, { recursive: true });
});
