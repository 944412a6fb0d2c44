/** Receipts and slips on paper: one page of 80 mm, in a real browser. The keypad of the PIN page. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openChromium } from '../support/chromium.ts';
import { openStoreWithStaff } from '../support/console.ts';
import { enrollDevice, hiddenValue, joinAs } from '../support/counter.ts';
import { scan } from './scan.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());

const pointsPerMm = 72 / 25.4;

/** The sizes of the pages of a PDF document in whole millimeters. */
function pageSizesOf(pdf: Uint8Array): readonly string[] {
  const text = Buffer.from(pdf).toString('latin1');
  return Array.from(
    text.matchAll(/\/MediaBox\s*\[\s*0\s+0\s+([\d.]+)\s+([\d.]+)\s*\]/g),
    ([, width, height]) =>
      `${Math.round(Number(width) / pointsPerMm)} × ${Math.round(Number(height) / pointsPerMm)}`,
  );
}

test('a receipt and the slip of a sale print on one page of 80 mm, and the day on A4', async () => {
  await using service = await openStoreWithStaff();
  const owner = await joinAs(service, { role: 'owner', name: 'wilhelmina.van.den.oudenhuijzen' });
  const key = hiddenValue(await owner.get('/till/sell?amount=123456.78'), 'key');
  const sold = await owner.post('/till/sell', { amount: '123456.78', key, how: 'new' });
  const path = sold.headers.get('location') ?? '';
  const receipt = /href="(\/till\/receipts\/\d{16})"/.exec((await owner.get(path)).text)?.[1] ?? '';
  for (const javaScript of [true, false]) {
    await using window = await chromium.window(service, {
      as: owner,
      javaScript,
      // The icon that the browser adds to a field for a day.
      expected: [/request to another origin: data:image/],
    });
    for (const page of [path, receipt]) {
      assert.equal(await window.open(page), 200, page);
      const sizes = pageSizesOf(await window.page.pdf({ preferCSSPageSize: true }));
      // A script makes the page as long as its content.
      assert.match(sizes.join(), javaScript ? /^80 × 1\d\d$/ : /^80 × 200$/, page);
    }
    assert.equal(await window.open('/till/day'), 200);
    assert.deepEqual(pageSizesOf(await window.page.pdf({ preferCSSPageSize: true })), ['210 × 297']);
  }
});

test('the QR codes of a sale and a receipt contain the code and the number', async () => {
  await using service = await openStoreWithStaff();
  const owner = await joinAs(service, { role: 'owner' });
  const key = hiddenValue(await owner.get('/till/sell?amount=25.00'), 'key');
  const sold = await owner.post('/till/sell', { amount: '25.00', key, how: 'new' });
  const path = sold.headers.get('location') ?? '';
  const { text } = await owner.get(path);
  const receipt = /href="(\/till\/receipts\/(\d{16}))"/.exec(text);
  const code = /id="new-code">([^<]+)</.exec(text)?.[1]?.replaceAll(' ', '') ?? '';
  await using window = await chromium.window(service, { as: owner });
  for (const [page, expected] of [
    [path, code],
    [receipt?.[1] ?? '', receipt?.[2] ?? ''],
  ] as const) {
    await window.open(page);
    assert.equal(await scan(window.page, '.qr svg'), expected, page);
  }
});

test('the keypad of the PIN page enters digits, and the field works without scripts', async () => {
  await using service = await openStoreWithStaff();
  const owner = await joinAs(service, { role: 'owner' });
  await owner.post('/account/pin', { pin: '2580' });
  const device = await enrollDevice(service, owner);
  for (const javaScript of [true, false]) {
    await using window = await chromium.window(service, { as: device, javaScript });
    const { page } = window;
    assert.equal(await window.open('/till/pin'), 200);
    const hasPad = (await page.$('.pad:not([hidden])')) !== null;
    assert.equal(hasPad, javaScript);
    if (javaScript) {
      for (const digit of ['2', '5', '8', '9']) await page.click(`[data-digit="${digit}"]`);
      await page.click('[data-delete]');
      await page.click('[data-digit="0"]');
    } else await page.type('#pin', '2580');
    await Promise.all([page.waitForNavigation(), page.click('button.first')]);
    const cookies = await page.browserContext().cookies();
    assert.ok(cookies.some(({ name }) => name === 'largesse-session'));
  }
});
