/** The sheet with a card, printed by a real browser: one page, with a QR code that scanners read. */

import assert from 'node:assert/strict';
import { inflateSync } from 'node:zlib';
import test, { after } from 'node:test';
import { openChromium, type Page, type Window } from '../support/chromium.ts';
import { openStaffedShop, sendForm, type StaffedShop } from '../support/counter-staff.ts';
import { scan } from './scan.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());

/** Issues a card, and opens a window at the page with its code. */
async function openIssued(
  shop: StaffedShop,
  fields: Readonly<Record<string, string>> = {},
): Promise<Window & { readonly path: string }> {
  const cashier = await shop.as('cashier');
  const issued = await sendForm(cashier, '/cards/new', {
    amount: 'other',
    other: '50',
    how: 'print',
    ...fields,
  });
  const path = issued.headers.get('location') ?? assert.fail(issued.text);
  const window = await chromium.window(shop.service, { as: cashier });
  assert.equal(await window.open(path), 200);
  return { ...window, path };
}

/** The code that the page shows as text. */
async function shownCode(page: Page): Promise<string> {
  const text = await page.$eval('.codeline', ({ textContent }) => textContent ?? '');
  const code = text.replaceAll(/\s/g, '');
  assert.match(code, /^[0-9A-Z]{16}$/);
  return code;
}

function pagesIn(pdf: Uint8Array): number {
  const file = Buffer.from(pdf).toString('latin1');
  const objects = [file];
  // Page objects can be in compressed streams.
  for (const match of file.matchAll(/stream\r?\n/g)) {
    const start = match.index + match[0].length;
    const end = file.indexOf('endstream', start);
    try {
      objects.push(inflateSync(Buffer.from(file.slice(start, end), 'latin1')).toString('latin1'));
    } catch {
      // Other streams are not compressed this way.
    }
  }
  return objects.join('\n').match(/\/Type\s*\/Page\b(?!s)/g)?.length ?? 0;
}

test('the printed card is one A4 page, and its QR code is the code', async () => {
  await using shop = await openStaffedShop();
  const longest = 'Many happy returns, dear Grace. '.repeat(16).slice(0, 500);
  const messages = [
    '',
    'Happy birthday!',
    longest,
    'W'.repeat(500),
    Array.from({ length: 60 }, () => 'line').join('\n'),
  ];
  for (const message of messages) {
    const names = { recipient_name: 'Grace '.repeat(16).trim(), sender_name: 'Ada '.repeat(25).trim() };
    await using window = await openIssued(shop, { message, ...names });
    const { page } = window;
    assert.equal(await window.open(`${window.path}/print`), 200);
    const code = await shownCode(page);
    assert.doesNotMatch(await page.title(), new RegExp(code, 'i'));
    const pdf = await page.pdf({ preferCSSPageSize: true, printBackground: true });
    assert.equal(pagesIn(pdf), 1, message.slice(0, 20));
    assert.match(Buffer.from(pdf).toString('latin1'), /\/MediaBox\s*\[\s*0 0 59[45]\S* 84[12]\S*\s*\]/);
    await page.emulateMediaType('print');
    assert.equal(await scan(page, '.symbols svg'), code);
    const isVisible = await page.$$eval('.codeline, .symbols svg, .small', (elements) => {
      const sheet = document.querySelector('.back')?.getBoundingClientRect();
      return elements.every((element) => {
        const box = element.getBoundingClientRect();
        return sheet !== undefined && box.bottom <= sheet.bottom + 1 && box.right <= sheet.right + 1;
      });
    });
    assert.ok(isVisible, `the code and the symbols are on the sheet: ${message.slice(0, 20)}`);
  }
});

test('the page of the result shows a QR code of the code, copies it, and has its button to print', async () => {
  await using shop = await openStaffedShop();
  await using window = await openIssued(shop);
  const { page } = window;
  const code = await shownCode(page);
  assert.equal(await scan(page, '.qr svg'), code);
  const origin = new URL(page.url()).origin;
  const permissions = ['clipboard-read', 'clipboard-write'].map(
    (name) => ({ permission: { name, allowWithoutSanitization: false }, state: 'granted' }) as const,
  );
  await page.browserContext().setPermission(origin, ...permissions);
  await page.click('[data-copy]');
  await page.waitForFunction(() => document.querySelector('[data-copy]')?.textContent === 'Copied');
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied.replaceAll(' ', ''), code);
  await page.click('a[href$="/print"]');
  await page.waitForSelector('[data-print]:not([hidden])');
  for (const request of window.requests()) {
    const sent = [request.url(), JSON.stringify(request.headers())].join(' ');
    assert.doesNotMatch(sent, new RegExp(code, 'i'));
  }
});
