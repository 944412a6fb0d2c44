/** A cashier sells, redeems and refunds printed cards with a scanner, at computers with other keyboards. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openChromium, type Page, type Window } from '../support/chromium.ts';
import { consoleDomain, join, openStoreWithStaff } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { shopOf } from '../support/shop.ts';
import { scanKeys, scannedText, type Layout } from './scanner-keys.ts';
import { goTo, showsText, textOf } from './till-page.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());
const service = await openStoreWithStaff();
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, consoleDomain);
const cashier = await join(service, 'cashier');

/** The way of a scan: as keys that the browser knows, or as a text, as from a program that receives the scans. */
type Arrival = 'keys' | 'text';

type Walk = {
  readonly computer: Layout;
  readonly arrival: Arrival;
  /** The keyboard that the notice names; null: the scan was read exactly. */
  readonly notice: string | null;
};

/** Letters and digits that move on the keyboards, with separators. The last four symbols are the same on all of them. */
const codeOf = (walk: number): string => `QAWZ-MY06-78${walk + 10}-BCDE`;
const withWrongLetter = (code: string): string => code.replace('AW', 'AT');

const walks: readonly Walk[] = [
  { computer: 'us', arrival: 'keys', notice: null },
  { computer: 'us', arrival: 'text', notice: null },
  // Letters alone are moved: they can be those of a scanner that is set for the keyboard.
  { computer: 'german', arrival: 'keys', notice: 'German keyboard' },
  { computer: 'german', arrival: 'text', notice: 'German keyboard' },
  { computer: 'swiss-german', arrival: 'keys', notice: 'German keyboard' },
  { computer: 'swiss-german', arrival: 'text', notice: 'German keyboard' },
  { computer: 'swiss-french', arrival: 'keys', notice: 'German keyboard' },
  { computer: 'swiss-french', arrival: 'text', notice: 'German keyboard' },
  { computer: 'french', arrival: 'keys', notice: null },
  { computer: 'french', arrival: 'text', notice: 'French keyboard' },
  { computer: 'belgian', arrival: 'keys', notice: null },
  { computer: 'belgian', arrival: 'text', notice: 'Belgian keyboard' },
];

const printed = await shop.ask('POST /stocks', { json: { codes: walks.map((_, walk) => codeOf(walk)) } });
assert.equal(printed.status, 202, printed.text);
await until(async () => (await service.query('select 1 from stock_codes')).length === walks.length);

async function scan(page: Page, code: string, { computer, arrival }: Walk): Promise<void> {
  if (arrival === 'keys') return await scanKeys(page, code, { computer });
  // A text arrives only where the focus is. A page sets it with its first frame.
  await page.waitForFunction(() => document.activeElement instanceof HTMLInputElement);
  await page.keyboard.sendCharacter(scannedText(code, { computer }));
  await page.keyboard.press('Enter');
}

/** Waits for a text on a page of the till whose scripts have started. */
async function shows(page: Page, text: string): Promise<void> {
  await showsText(page, text);
  await goTo(page, '/till/');
}

async function enterAmount(page: Page, digits: string): Promise<void> {
  for (const digit of digits) await page.click(`[data-digit="${digit}"]`);
  await page.click('.paybar button');
}

/** The numbers of all cards, of printed cards that were sold, and of entries that issue a card. */
async function sales(): Promise<readonly number[]> {
  const [row] = await service.query(
    `select (select count(*) from gift_cards) as cards,
       (select count(*) from stock_codes where sold_at is not null) as printed,
       (select count(*) from transfers where kind = 'issue') as issues`,
  );
  return ['cards', 'printed', 'issues'].map((name) => Number(row?.[name]));
}

/** The text of the notice on the idle till; null: it is not shown. */
async function noticeOf({ page, open }: Window): Promise<string | null> {
  assert.equal(await open('/till'), 200);
  const notice = await page.$('[aria-labelledby="scanner"]');
  return notice && (await notice.evaluate((section) => section.textContent.replaceAll(/\s+/g, ' ')));
}

for (const [place, walk] of walks.entries()) {
  const { computer, arrival, notice } = walk;
  test(`a printed card is sold, redeemed and refunded: ${computer} keyboard, scans as ${arrival}`, async () => {
    const code = codeOf(place);
    const expected = [/^status 422: POST \S+\/till\/sell$/];
    await using window = await chromium.window(service, { as: cashier, expected });
    const { page } = window;
    const before = await sales();

    assert.equal(await window.open('/till/sell'), 200);
    await enterAmount(page, '4000');
    await shows(page, 'Sell a card for $40.00');
    await scan(page, withWrongLetter(code), walk);
    await shows(page, '•••• bcde is not one of your printed cards');
    assert.deepEqual(await sales(), before, 'nothing was sold');
    await scan(page, code, walk);
    await goTo(page, '/till/sold/');
    assert.match(await textOf(page), /\$40\.00 sold on the card •••• bcde/);
    assert.deepEqual(
      await sales(),
      before.map((count) => count + 1),
    );
    assert.equal((await shop.lookUp(code)).balance, '40.00', 'the printed card is the one that was sold');

    const shown = await noticeOf(window);
    if (notice === null) assert.equal(shown, null);
    else
      assert.match(
        shown ?? '',
        new RegExp(`scanner types for another keyboard\\..*Set the scanner to the ${notice},`),
      );
    await page.reload();
    assert.equal(await page.$('[aria-labelledby="scanner"]'), null, 'it appears once');

    await scan(page, code, walk);
    await goTo(page, '/till/card/');
    await enterAmount(page, '1250');
    await goTo(page, '/till/redeemed/');
    assert.equal((await shop.lookUp(code)).balance, '27.50');

    assert.equal(await window.open('/till/refund'), 200);
    await scan(page, code, walk);
    await goTo(page, '/till/refund/card/');
    await page.click('.paybar button');
    await goTo(page, '/till/refund/done/');
    assert.equal((await shop.lookUp(code)).balance, '40.00');

    assert.equal(await noticeOf(window), null, 'it appears once a day');
    assert.deepEqual(
      await sales(),
      before.map((count) => count + 1),
    );
    assert.ok(!(await page.content()).toLowerCase().includes('qawz'), 'no page has the code');
  });
}
