/** Cards on paper: the PDF has the code of the card as text, QR code and barcode, on the half of the sheet behind the fold. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test, { after } from 'node:test';
import { openChromium, type Page } from '../support/chromium.ts';
import type { Browser } from '../support/browser.ts';
import { enrollDevice, hiddenValue, joinAs } from '../support/counter.ts';
import { formOf, openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { barsMm, checkSheet, printedCode } from './sheets.ts';
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

for (const { per, count, grid } of [
  { per: '8', count: 8, grid: { left: 4.65, top: 13, width: 99.1, height: 67.7, step: 101.6 } },
  { per: '10', count: 10, grid: { left: 4.65, top: 5.9, width: 99.1, height: 57, step: 101.6 } },
  { per: 'letter', count: 10, grid: { left: 3.97, top: 12.7, width: 101.6, height: 50.8, step: 106.36 } },
] as const) {
  test(`${count} labels are on a page (${per}), each with both symbols and the text of its card`, async () => {
    const { path, codes } = await issueBatch(count + 1);
    await using till = await openTill();
    await using window = await chromium.window(shop.service, { as: manager });
    assert.equal(await window.open(`${path}/print?per=${per}`), 200);
    using paper = await printed(window.page);
    assert.deepEqual(
      paper.pages.map(({ widthMm, heightMm }) => [Math.round(widthMm), Math.round(heightMm)]),
      Array.from({ length: 2 }, () => (per === 'letter' ? [216, 279] : [210, 297])),
    );
    for (const [index, code] of codes.entries()) {
      const number = Math.floor(index / count);
      const place = index % count;
      const left = grid.left + (place % 2) * grid.step;
      const top = grid.top + Math.floor(place / 2) * grid.height;
      const label: Box = { left, top, right: left + grid.width, bottom: top + grid.height };
      assert.deepEqual(
        (await paper.scan(till.page, number + 1, label)).map(({ format, text }) => [format, text]),
        [
          ['code_128', code],
          ['qr_code', code],
        ],
        `label ${index + 1}`,
      );
      const words = paper.pages[number]?.words.filter((word) => isInside(word, label)) ?? [];
      const text = words.map((word) => word.text).join(' ');
      assert.ok(text.includes(code.replace(/.{4}(?=.)/g, '$& ')) && text.includes('25'), text);
    }
  });
}

function isInside(box: Box, { left, top, right, bottom }: Box): boolean {
  return box.left > left && box.right < right && box.top > top && box.bottom < bottom;
}

test('a label has room for long names and the longest code', async () => {
  const codes = ['WMQGWMQGWMQGWMQGWMQG', '12345678901234567890'];
  const { json } = await shop.ask('POST /stocks', { json: { name: 'Long', codes } });
  const { id } = (json as { readonly stock: { readonly id: number } }).stock;
  await until(async () => (await manager.get(`/cards/stock/${id}`)).text.includes('/print'), 60_000);
  await using till = await openTill();
  await using window = await chromium.window(shop.service, { as: manager });
  for (const per of ['1', '8', '10', 'letter']) {
    assert.equal(await window.open(`/cards/stock/${id}/print?per=${per}`), 200);
    await window.page.evaluate(() => {
      const words = 'Wilhelmina van den Oudenhuijzen '.repeat(8);
      for (const facts of document.querySelectorAll('.facts-cell'))
        facts.insertAdjacentHTML(
          'beforeend',
          `<p class="for">${words}</p><span class="figure">€123,456.78</span><p>31.12.2031</p>`,
        );
      for (const part of document.querySelectorAll('.label .shop, .label .reach')) part.append(words);
    });
    using paper = await printed(window.page);
    const symbols = (await paper.scan(till.page, 1, half(per))).map(({ text }) => text);
    const expected = per === '1' ? codes.slice(0, 1) : codes;
    assert.deepEqual(symbols.toSorted(), [...expected, ...expected].toSorted(), per);
  }
});

/** The part of a page with the symbols of a sheet, or with the first two labels. */
function half(per: string): Box {
  return per === '1'
    ? { left: 0, top: 148, right: 210, bottom: 297 }
    : { left: 0, top: 0, right: 210, bottom: 80 };
}

for (const [widthMm, javaScript] of [
  [80, true],
  [58, true],
  [80, false],
  [58, false],
] as const) {
  const page = javaScript ? 'as long as it is' : 'without scripts';
  test(`a slip and a receipt on ${widthMm} mm are one page, ${page}, with both symbols`, async () => {
    const seller = await tillWithPaper(widthMm);
    const key = hiddenValue(await seller.get('/till/sell?amount=123456.78'), 'key');
    const sold = await seller.post('/till/sell', { amount: '123456.78', key, how: 'new' });
    const path = sold.headers.get('location') ?? assert.fail(sold.text);
    const { text } = await seller.get(path);
    const code = /id="new-code">([^<]+)</.exec(text)?.[1]?.replaceAll(' ', '') ?? assert.fail(text);
    const [, receipt = '', number = ''] = /href="(\/till\/receipts\/(\d{16}))"/.exec(text) ?? [];
    await using till = await openTill();
    await using window = await chromium.window(shop.service, { as: seller, javaScript });
    for (const [print, content] of [
      [path, code],
      [receipt, number],
    ] as const) {
      assert.equal(await window.open(print), 200);
      using paper = await printed(window.page);
      const [only] = paper.pages;
      assert.ok(only && paper.pages.length === 1, print);
      assert.equal(Math.round(only.widthMm), widthMm);
      const symbols = await paper.scan(till.page, 1);
      assert.deepEqual(
        symbols.map(({ format, text: read }) => [format, read]),
        [
          ['code_128', content],
          ['qr_code', content],
        ],
      );
      const printedParts = [...only.words, ...symbols];
      // Printers do not reach the margins.
      for (const { left, right, text: part } of printedParts)
        assert.ok(left > 4 && right < widthMm - 4, `${part} is at the edge of the paper`);
      const end = Math.max(...printedParts.map(({ bottom }) => bottom));
      const isLong = only.heightMm - end > 12;
      assert.equal(isLong, !javaScript, `${end} of ${only.heightMm} mm`);
      const [barcode] = symbols;
      if (content !== code || !barcode) continue;
      const length = widthMm === 58 ? barcode.bottom - barcode.top : barcode.right - barcode.left;
      assert.ok(Math.abs(length - barsMm) < 1, 'the bars are whole dots wide');
    }
  });
}

/** The browser of an owner, enrolled as a till whose printer has paper of this width. */
async function tillWithPaper(widthMm: 58 | 80): Promise<Browser> {
  const name = `owner${widthMm}.${randomUUID()}`;
  const device = await enrollDevice(shop.service, await joinAs(shop.service, { role: 'owner', name }));
  const owner = await joinAs(shop.service, { role: 'owner', name: `${name}.2` });
  const token = device.cookies.get('largesse-till') ?? assert.fail();
  owner.cookies.set('largesse-till', token);
  const [path] = /\/tills\/\d+\/paper/.exec((await owner.get('/tills')).text) ?? [];
  assert.equal((await owner.post(path ?? '', { paper: String(widthMm) })).status, 303);
  return owner;
}
