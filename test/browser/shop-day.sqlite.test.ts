/** A day of a shop in a real browser: from the setup link to the day's totals, on a service that runs as a process. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join as joinPath } from 'node:path';
import test, { after } from 'node:test';
import { openChromium, type Page, type Window, type WindowOptions } from '../support/chromium.ts';
import { until } from '../support/delivering.ts';
import { command, databaseToServe, serve, type Served } from '../support/served.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());

const phone = { width: 390, height: 844, isMobile: true, hasTouch: true };
const password = 'correct horse battery';
const folder = process.env['SHOTS'];
let shots = 0;

/** The text that the page shows, with plain spaces. */
async function textOf(page: Page): Promise<string> {
  if (folder)
    await page.screenshot({
      path: `${folder}/${String((shots += 1)).padStart(2, '0')}.png`,
      fullPage: true,
    });
  return await page.evaluate(() => document.body.innerText.replace(/\s+/g, ' '));
}

async function shows(page: Page, ...patterns: readonly RegExp[]): Promise<string> {
  const text = await textOf(page);
  for (const pattern of patterns) assert.match(text, pattern, page.url());
  return text;
}

function pathOf(page: Page): string {
  return new URL(page.url()).pathname;
}

/** Does something that leads to another page, and waits for it. */
async function leads(page: Page, path: RegExp, act: () => Promise<unknown>): Promise<void> {
  await Promise.all([page.waitForNavigation(), act()]);
  assert.match(pathOf(page), path, await textOf(page));
}

/** Follows the link or presses the button with the text. */
async function press(page: Page, text: string, path: RegExp): Promise<void> {
  await leads(page, path, () => page.click(`::-p-xpath(//*[self::a or self::button][normalize-space()='${text}'])`));
}

/** Fills in fields by their ids. */
async function fill(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [id, value] of Object.entries(values)) {
    await page.$eval(`#${id}`, (field) => ((field as HTMLInputElement).value = ''));
    await page.type(`#${id}`, value);
  }
}

/** Types as a scanner does, which ends with Enter. */
async function scan(page: Page, code: string, path: RegExp): Promise<void> {
  await leads(page, path, async () => {
    for (const character of code) await page.keyboard.press(character as 'A');
    await page.keyboard.press('Enter');
  });
}

/** Every page of the window was HTML, and none contained one of the codes except the pages that may. */
function assertPages(window: Window): void {
  let pages = 0;
  for (const request of window.requests()) {
    if (!request.isNavigationRequest() || request.redirectChain().length > 0) continue;
    const type = request.response()?.headers()['content-type'] ?? '';
    assert.match(type, /^text\/html/, request.url());
    pages += 1;
  }
  assert.ok(pages > 0);
}

type KeptEmail = { readonly to: string; readonly subject: string; readonly text: string };

/** The emails to an address that were sent so far, oldest first; waits until there are enough. */
async function emailsTo(mails: string, address: string, count: number): Promise<readonly KeptEmail[]> {
  let found: readonly KeptEmail[] = [];
  await until(() => {
    const files = readdirSync(mails).filter((file) => file.endsWith('.json')).toSorted();
    const emails = files.map((file) => JSON.parse(readFileSync(joinPath(mails, file), 'utf8')) as KeptEmail);
    found = emails.filter(({ to }) => to.includes(address));
    return found.length >= count;
  });
  return found;
}

/** The code in an email. */
function codeIn({ text }: KeptEmail): string {
  const [code] = /\b(?:[0-9A-Z]{4} ){3}[0-9A-Z]{4}\b/.exec(text) ?? assert.fail(text);
  return code;
}

async function open(service: Served, options: WindowOptions = {}): Promise<Window> {
  return await chromium.window(service, { expected: [/favicon\.ico$/], ...options });
}

test('an owner sets up a shop, sells, redeems, refunds, resends and closes the day', async () => {
  await using database = await databaseToServe();
  const { environment } = database;
  await using service = await serve(environment);
  const mails = joinPath(dirname((environment['DATABASE_URL'] ?? '').replace(/^file:/, '')), 'mails');
  const { output } = await command(environment, 'setup', 'link');
  const link = /\/setup\/\S+/.exec(output)?.[0] ?? assert.fail(output);

  // The shop and its owner.
  await using office = await open(service);
  const owner = office.page;
  assert.equal(await office.open('/'), 200);
  await shows(owner, /npx largesse setup link/);
  assert.equal(await office.open(link), 200);
  await textOf(owner);
  await fill(owner, { shop: 'Flowers of Example Street', currency: 'EUR' });
  await press(owner, 'Set up my shop', /^\/setup\//);
  await fill(owner, { name: 'Ada Lovelace', email: 'ada@example.com' });
  await owner.click('input[value=password]');
  await fill(owner, { password });
  await textOf(owner);
  await press(owner, 'Create my account', /^\/cards\/new$/);

  // The first card, to print.
  await textOf(owner);
  await owner.click('input[name=amount][value="50.00"]');
  await fill(owner, { recipient_name: 'Grace' });
  await owner.click('input[name=how][value=print]');
  await press(owner, 'Issue the card', /^\/cards\/issued\//);
  await shows(owner, /Card issued for €50\.00/);
  const printed = await owner.$eval('#code', (shown) => shown.textContent.trim());
  await press(owner, 'Print the card', /^\/cards\/issued\/[^/]+\/print$/);
  await shows(owner, new RegExp(printed));
  await press(owner, 'Back', /^\/cards\/issued\/[^/]+$/);
  await press(owner, 'Done', /^\/cards\/\d+$/);
  await shows(owner, /€50\.00/);

  // A card by email.
  await press(owner, 'Gift cards', /^\/cards$/);
  await textOf(owner);
  await press(owner, 'Issue a card', /^\/cards\/new$/);
  await owner.click('input[name=amount][value=other]');
  await fill(owner, { other: '40', recipient_name: 'Lin', recipient_email: 'lin@example.com' });
  await owner.click('input[name=how][value=email]');
  await press(owner, 'Issue the card', /^\/cards\/issued\//);
  await shows(owner, /Card issued for €40\.00\. The email to lin@example\.com is on its way/);
  const [sent = assert.fail()] = await emailsTo(mails, 'lin@example.com', 1);
  const emailed = codeIn(sent);

  // A cashier, who joins in another browser.
  await press(owner, 'Staff', /^\/staff$/);
  await textOf(owner);
  await press(owner, 'Invite a person', /^\/staff\/new$/);
  await fill(owner, { email: 'bo@example.com', name: 'Bo' });
  await textOf(owner);
  await owner.select('#role', 'cashier');
  await press(owner, 'Create the link', /^\/staff\/links\//);
  await textOf(owner);
  const invitation = await owner.$eval('.copy', (shown) => shown.textContent.trim());
  await using bos = await open(service, { viewport: phone });
  assert.equal(await bos.open(new URL(invitation).pathname), 200);
  await textOf(bos.page);
  await fill(bos.page, { password });
  await press(bos.page, 'Join', /^\/till$/);
  await textOf(bos.page);
  assert.equal(await bos.open('/account'), 200);
  await fill(bos.page, { pin: '2580' });
  await textOf(bos.page);
  await press(bos.page, 'Set the PIN', /^\/account$/);

  // A device of the counter.
  await using counter = await open(service, { viewport: phone });
  const till = counter.page;
  assert.equal(await counter.open('/'), 200);
  await textOf(till);
  await fill(till, { email: 'ada@example.com', password });
  await press(till, 'Sign in', /^\/today$/);
  await textOf(till);
  assert.equal(await counter.open('/tills'), 200);
  await fill(till, { name: 'Counter' });
  await textOf(till);
  await press(till, 'Enroll this browser', /^\/till\/pin$/);
  for (const digit of '2580') await till.tap(`[data-digit="${digit}"]`);
  await textOf(till);
  await press(till, 'Unlock', /^\/till$/);

  // Scan, redeem in three taps, undo.
  await textOf(till);
  await scan(till, printed, /^\/till\/card\//);
  await textOf(till);
  await leads(till, /^\/till\/redeemed\//, () => till.tap('button[value="50.00"]'));
  await shows(till, /€50\.00 redeemed from/);
  await press(till, 'Undo', /^\/till\/redeemed\//);
  await shows(till, /The redemption was undone/);
  await scan(till, printed, /^\/till\/card\//);
  for (const digit of '1250') await till.tap(`[data-digit="${digit}"]`);
  await shows(till, /Redeem €12\.50/, /leaves €37\.50/);
  await leads(till, /^\/till\/redeemed\//, () => till.tap('#redeem-button'));
  await shows(till, /€12\.50 redeemed from .* €37\.50 left/);
  await press(till, 'Receipt', /^\/till\/receipts\//);
  await textOf(till);

  // A refund to the card.
  await press(till, 'Back to the till', /^\/till$/);
  await counter.open('/till/refund');
  await textOf(till);
  await fill(till, { find: printed });
  await press(till, 'Find the redemption', /^\/till\/refund\/card\//);
  await textOf(till);
  await press(till, 'Refund', /^\/till\/refund\/entry\//);
  await fill(till, { amount: '2.50' });
  await textOf(till);
  await press(till, 'Refund to the card', /^\/till\/refund\/done\//);
  await shows(till, /€2\.50/, /Balance: €40\.00/);

  // A sale at the till.
  await press(till, 'Next customer', /^\/till$/);
  await press(till, 'Sell a card', /^\/till\/sell$/);
  await textOf(till);
  await press(till, '€25.00', /^\/till\/sell$/);
  await textOf(till);
  await press(till, 'Sell with a new code', /^\/till\/sold\//);
  await shows(till, /€25\.00 sold on the card/);

  // A new code for Lin, by the owner: the old one stops working at the till.
  await press(owner, 'Gift cards', /^\/cards$/);
  await fill(owner, { q: 'lin@example.com' });
  await press(owner, 'Find', /^\/cards/);
  await textOf(owner);
  await leads(owner, /^\/cards\/\d+$/, () => owner.click('main td a[href^="/cards/"], main th a[href^="/cards/"]'));
  await textOf(owner);
  await press(owner, 'Email a new code', /^\/cards\/\d+\/resend$/);
  await shows(owner, /the old one stops working/);
  await press(owner, 'Make a new code', /^\/cards\//);
  await textOf(owner);
  const [, again = assert.fail()] = await emailsTo(mails, 'lin@example.com', 2);
  const replaced = codeIn(again);
  assert.notEqual(replaced, emailed);
  await press(till, 'Next customer', /^\/till$/);
  await scan(till, emailed, /^\/till\/find$/);
  await shows(till, /No usable card has the code/);
  await till.$eval('#code', (field) => ((field as HTMLInputElement).value = ''));
  await till.focus('#code');
  await scan(till, replaced, /^\/till\/card\//);
  await shows(till, /€40\.00/);

  // The day: 50 + 40 by the owner, 25 by Bo; 12.50 redeemed, 2.50 refunded, 50 undone.
  assert.equal(await counter.open('/till/day'), 200);
  await textOf(till);
  assert.equal(await office.open('/till/day'), 200);
  await textOf(owner);
  assert.equal(await office.open('/audit'), 200);
  await textOf(owner);
  assert.equal(await office.open('/today'), 200);
  await textOf(owner);
  await press(till, 'Next card', /^\/till$/);
  await press(till, 'Lock', /^\/till\/pin$/);
  for (const window of [office, bos, counter]) assertPages(window);
});
