/** Cards on paper: the PDF has the code of the card as text, QR code and barcode, on the half of the sheet behind the fold. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openChromium, type Page } from '../support/chromium.ts';
import { formOf, openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { checkSheet, printedCode } from './sheets.ts';
import { printed, type Box } from './paper.ts';

/** Cards of a batch. The soak prints as many as a shop issues at once. */
const batchCards = Number(process.env['PRINTED_CARDS'] ?? 2);

const chromium = await openChromium();
const shop = await openStaffedShop();
after(async () => {
  await chromium[Symbol.asyncDispose]();
  await shop[Symbol.asyncDispose]();
});
const manager = await shop.as('manager');

/** A till, whose scanner reads what was printed. */
async function openTill() {
  const window = await chromium.window(shop.service, { as: manager });
  assert.equal(await window.open('/till'), 200);
  return window;
}

async function shownCode(page: Page): Promise<string> {
  await page.waitForSelector('.codeline');
  return (await page.$eval('.codeline', ({ textContent }) => textContent ?? '')).replaceAll(/\s/g, '');
}

for (const [locale, amount, fold] of [
  ['en-US', '50', 'Fold here'],
  ['ar-EG', '٥٠', null],
] as const) {
  test(`what a recipient prints in ${locale} is one sheet with the card that the page shows`, async () => {
    const card = await shop.issue({
      initial_value: '50.00',
      message: 'Happy birthday!',
      recipient_name: 'Grace',
    });
    await using till = await openTill();
    await using window = await chromium.window(shop.service, { locale });
    const { page } = window;
    assert.equal(await window.open('/b'), 200);
    await page.type('#code', card.code);
    await Promise.all([page.waitForNavigation(), page.click('form button.first')]);
    const code = await shownCode(page);
    assert.equal(code, card.code.toUpperCase());
    using paper = await printed(page);
    assert.equal(paper.pages.length, 1);
    await checkSheet(till.page, { paper, number: 1, code, texts: ['Grace', 'birthday!', amount], fold });
  });
}

/** Issues equal cards. @returns the path of the batch, and its codes in the order of its file. */
async function issueBatch(
  count: number,
): Promise<{ readonly path: string; readonly codes: readonly string[] }> {
  const issue = { kind: 'equal', count: String(count), value: '25' };
  const form = formOf(await manager.post('/cards/batches/new', issue), '/cards/batches/issue');
  const sums = { expected_count: issue.count, expected_total: String(25 * count) };
  const issued = await manager.post('/cards/batches/issue', { ...form, ...sums });
  const path = issued.headers.get('location') ?? assert.fail(textOfPage(issued));
  await until(async () => textOfPage(await manager.get(path)).includes('until'), 60_000);
  const file = await manager.post(`${path}/codes.csv`);
  const codes = file.text.split('\r\n').slice(1, -1).map((line) => (line.split(',')[2] ?? '').toUpperCase()); // prettier-ignore
  assert.equal(codes.length, count);
  return { path, codes };
}

test('the sheets of a batch are one page each, with the codes of its file', async () => {
  const { path, codes } = await issueBatch(batchCards);
  await using till = await openTill();
  await using window = await chromium.window(shop.service, { as: manager });
  const found: (string | undefined)[] = [];
  // A page has the sheets of 50 cards, and a link to the next ones.
  for (let next: string | null = `${path}/print`; next !== null;) {
    assert.equal(await window.open(next), 200);
    using paper = await printed(window.page);
    for (const number of new Set([1, paper.pages.length])) {
      const code = codes[found.length + number - 1] ?? assert.fail(`${found.length + number} pages`);
      await checkSheet(till.page, { paper, number, code, texts: ['25'], fold: 'Fold here' });
    }
    found.push(...paper.pages.map(printedCode));
    next = await window.page.evaluate(
      () => document.querySelector('a[rel="next"]')?.getAttribute('href') ?? null,
    );
  }
  assert.deepEqual(found, codes);
});

for (const [perPage, rowMm, topMm] of [
  [8, 67.7, 13],
  [10, 57, 5.9],
] as const) {
  test(`${perPage} labels are on a page, each with the QR code and the text of its card`, async () => {
    const { path, codes } = await issueBatch(perPage + 1);
    await using till = await openTill();
    await using window = await chromium.window(shop.service, { as: manager });
    assert.equal(await window.open(`${path}/print?per=${perPage}`), 200);
    using paper = await printed(window.page);
    assert.equal(paper.pages.length, 2);
    const scanned = [await paper.scan(till.page, 1, 'page'), await paper.scan(till.page, 2, 'page')];
    for (const [index, code] of codes.entries()) {
      const number = Math.floor(index / perPage);
      const place = index % perPage;
      const [left, top] = [4.65 + (place % 2) * 101.6, topMm + Math.floor(place / 2) * rowMm];
      const isInside = (box: Box): boolean =>
        box.left > left && box.right < left + 99.1 && box.top > top && box.bottom < top + rowMm;
      assert.deepEqual(
        scanned[number]?.filter(isInside).map(({ format, text }) => [format, text]),
        [['qr_code', code]],
        `label ${index + 1}`,
      );
      const words = paper.pages[number]?.words.filter(isInside) ?? [];
      const text = words.map((word) => word.text).join(' ');
      assert.ok(text.includes(code.replace(/.{4}(?=.)/g, '$& ')) && text.includes('25'), text);
    }
  });
}
