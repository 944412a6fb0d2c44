/** The preview of emails, which follows the fields of the form. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import test, { after } from 'node:test';
import { goBack, openChromium, type Page } from '../support/chromium.ts';
import { join, openStoreWithStaff } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import { accessibilityFaults, overflowFaults } from './page-checks.ts';

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

/** The text of the document in the frame. */
async function previewText(page: Page): Promise<string> {
  const frame = await page.waitForFrame((each) => each.parentFrame() !== null);
  return await frame.$eval('body', ({ innerText }) => innerText);
}

test('the previews of the shop follow the fields and a chosen logo, with the fonts of the pages', async () => {
  for (const [width, colorScheme] of [
    [390, 'dark'],
    [1280, 'light'],
  ] as const) {
    await using service = await openStoreWithStaff();
    const owner = await join(service, 'owner');
    await using window = await chromium.window(service, {
      as: owner,
      colorScheme,
      viewport: { width, height: 800 },
    });
    const { page } = window;
    assert.equal(await window.open('/settings'), 200);
    await waitForPreview(page, 'has a gift for you');
    await page.$eval('#name', (field) => (field as HTMLInputElement).select());
    await page.type('#name', 'Herbs & <i>more</i>');
    await page.type('#phone', '+33 1 42');
    await page.click('input[name="view"][value="page"]');
    await waitForPreview(page, 'href="tel:+33142"');
    await page.type('#color', '#6d2447');
    await waitForPreview(page, 'brand-6d2447.css');
    const frame = await page.waitForFrame((each) => each.url().endsWith('/settings/preview'));
    const bar = await frame.$eval('.shopname bdi', (name) => getComputedStyle(name).fontFamily);
    assert.match(bar, /^Fraunces/);
    await frame.waitForFunction(() => document.fonts.check('1rem Fraunces'));
    const { color, isWide } = await frame.$eval('.gift .ground rect', (ground) => ({
      color: getComputedStyle(ground).fill,
      isWide: document.documentElement.scrollWidth > innerWidth,
    }));
    assert.deepEqual({ color, isWide }, { color: 'rgb(109, 36, 71)', isWide: false });

    // The logo that is chosen, which is not uploaded.
    await chooseNoise(page, 20);
    await page.$eval('#logo_file', (field) => field.dispatchEvent(new Event('change')));
    await page.click('input[name="view"][value="receipt"]');
    await waitForPreview(page, 'src="data:image/png;base64,');
    assert.match(await previewText(page), /Herbs & <i>more<\/i>[^]*\+33 1 42/);
    await page.click('input[name="view"][value="sheet"]');
    await waitForPreview(page, 'class="sheet"');
    assert.match(await previewText(page), /Herbs & <i>more<\/i> *\n\+33 1 42/);
    assert.deepEqual(await overflowFaults(page), []);
    assert.deepEqual(await accessibilityFaults(page), []);
    // It is not a part of what is saved.
    await page.click('#shop-settings .button.first');
    await page.waitForSelector('.notice.good');
    assert.equal(
      await page.$eval('#name', (field) => (field as HTMLInputElement).value),
      'Herbs & <i>more</i>',
    );
    assert.equal(await page.$('form[action$="/logo/remove"]'), null);
  }

  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  await using plain = await chromium.window(service, { as: owner, javaScript: false });
  assert.equal(await plain.open('/settings'), 200);
  await plain.page.type('#hours', 'Mon 9–10');
  await plain.page.click('input[name="view"][value="receipt"]');
  await plain.page.click('button[formtarget="preview"]');
  await waitForPreview(plain.page, 'Mon 9–10');
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
