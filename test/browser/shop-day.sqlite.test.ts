/** A day of a shop in a real browser: from the setup link to the day's totals, on a service that runs as a process. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join as joinPath } from 'node:path';
import test, { after } from 'node:test';
import {
  openChromium,
  typeAsScanner,
  type Page,
  type Window,
  type WindowOptions,
} from '../support/chromium.ts';
import { until } from '../support/delivering.ts';
import { command, databaseToServe, openShop, serve, type Served } from '../support/served.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());

const phone = { width: 390, height: 844, isMobile: true, hasTouch: true };
const password = 'correct horse battery';
/** A button that its page stretches is higher than a big one (px). */
const buttonHeightMax = 72;

/** The text that a page shows, with plain spaces. */
async function textOf(page: Page): Promise<string> {
  return await page.evaluate(() => document.body.innerText.replace(/\s+/g, ' '));
}

/** Checks the text of a page, and that no button is stretched and each choice is one line of a circle and its text. */
async function shows(page: Page, ...patterns: readonly RegExp[]): Promise<void> {
  const text = await textOf(page);
  for (const pattern of patterns) assert.match(text, pattern, page.url());
  const misplaced = await page.evaluate((heightMax) => {
    const stretched = [...document.querySelectorAll('.button')].filter(
      (button) => button.getBoundingClientRect().height > heightMax,
    );
    const split = [...document.querySelectorAll('.choices.names .choice')].filter((choice) => {
      const [outer, inner] = [choice, choice.querySelector('input')].map((each) =>
        each?.getBoundingClientRect(),
      );
      return (
        outer &&
        inner &&
        (inner.left < outer.left + 4 || Math.abs(inner.top + inner.bottom - outer.top - outer.bottom) > 8)
      );
    });
    return [...stretched, ...split].map((each) => each.textContent);
  }, buttonHeightMax);
  assert.deepEqual(misplaced, [], page.url());
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
  await leads(page, path, () =>
    page.click(`::-p-xpath(//*[self::a or self::button][normalize-space()='${text}'])`),
  );
}

/** Fills in fields by their ids. */
async function fill(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [id, value] of Object.entries(values)) {
    await page.$eval(`#${id}`, (field) => ((field as HTMLInputElement).value = ''));
    await page.type(`#${id}`, value);
  }
}

/** Scans a code, which leads to a page. */
async function scan(page: Page, code: string, path: RegExp): Promise<void> {
  await leads(page, path, () => typeAsScanner(page, code));
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

/** The emails to an address that were kept next to the database, oldest first; waits until there are enough. */
async function emailsTo(folder: string, address: string, count: number): Promise<readonly KeptEmail[]> {
  let found: readonly KeptEmail[] = [];
  await until(() => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\/\d{8}T\d{9}Z-[\w-]+\.json$/.test(file))
      .toSorted();
    const emails = files.map((file) => JSON.parse(readFileSync(joinPath(folder, file), 'utf8')) as KeptEmail);
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

/** The entries of the day in the audit log. */
const auditLog = [
  /Created a link for ada@example\.com, as Owner/,
  /Sold a card €50\.00/,
  /Sold a card €40\.00, by email/,
  /Created a link for bo@example\.com, as Cashier/,
  /Set a PIN/,
  /Enrolled a till “Counter”/,
  /Signed in with a PIN/,
  /Redeemed a card €50\.00/,
  /Undid a redemption €50\.00/,
  /Redeemed a card €12\.50/,
  /Refunded to a card €2\.50/,
  /Sold a card €25\.00/,
  /Sent a new code by email/,
];

/** Sets up a shop with a password, from the setup link to the page for the first card. */
async function setUp(office: Window, link: string): Promise<void> {
  const { page, open: openPage } = office;
  assert.equal(await openPage('/'), 200);
  await shows(page, /npx largesse setup link/);
  assert.equal(await openPage(link), 200);
  await fill(page, { shop: 'Flowers of Example Street', currency: 'EUR' });
  await shows(page, /What is your shop called\?/);
  await press(page, 'Set up my shop', /^\/setup\//);
  await fill(page, { name: 'Ada Lovelace', email: 'ada@example.com' });
  await page.click('input[value=password]');
  await fill(page, { password });
  await press(page, 'Create my account', /^\/cards\/new$/);
}

/** Sells a printed card. @returns its code */
async function sellPrinted(page: Page): Promise<string> {
  await page.click('input[name=amount][value="50.00"]');
  await fill(page, { recipient_name: 'Grace' });
  await page.click('input[name=how][value=print]');
  await press(page, 'Issue the card', /^\/cards\/issued\//);
  await shows(page, /Card issued for €50\.00/);
  const code = await page.$eval('#code', (shown) => shown.textContent.trim());
  await press(page, 'Print the card', /^\/cards\/issued\/[^/]+\/print$/);
  await shows(page, new RegExp(code));
  await press(page, 'Back', /^\/cards\/issued\/[^/]+$/);
  await press(page, 'Done', /^\/cards\/\d+$/);
  await shows(page, /€50\.00 left of €50\.00/);
  return code;
}

async function sellByEmail(page: Page): Promise<void> {
  await press(page, 'Gift cards', /^\/cards$/);
  await press(page, 'Issue a card', /^\/cards\/new$/);
  await page.click('input[name=amount][value=other]');
  await fill(page, { other: '40', recipient_name: 'Lin', recipient_email: 'lin@example.com' });
  await page.click('input[name=how][value=email]');
  await press(page, 'Issue the card', /^\/cards\/issued\//);
  await shows(
    page,
    /Card issued for €40\.00\. The email to lin@example\.com is kept on this machine and not sent/,
  );
}

/** Invites a cashier. @returns the path of the link */
async function inviteBo(page: Page): Promise<string> {
  await press(page, 'Staff', /^\/staff$/);
  await press(page, 'Invite a person', /^\/staff\/new$/);
  await fill(page, { email: 'bo@example.com', name: 'Bo' });
  await page.select('#role', 'cashier');
  await press(page, 'Create the link', /^\/staff\/links\//);
  await shows(page, /Link for Bo/);
  return new URL(await page.$eval('.copy', (shown) => shown.textContent.trim())).pathname;
}

/** The cashier joins on a phone, and sets a PIN. */
async function joinAsBo({ page, open: openPage }: Window, invitation: string): Promise<void> {
  assert.equal(await openPage(invitation), 200);
  await shows(page, /Welcome, bo/i);
  await fill(page, { password });
  await press(page, 'Join', /^\/till$/);
  assert.equal(await openPage('/account'), 200);
  await fill(page, { pin: '2580' });
  await press(page, 'Set the PIN', /^\/account$/);
}

/** The owner enrolls a phone as a till. */
async function enroll({ page, open: openPage }: Window): Promise<void> {
  assert.equal(await openPage('/'), 200);
  await fill(page, { email: 'ada@example.com', password });
  await press(page, 'Sign in', /^\/today$/);
  await leads(page, /^\/more$/, () => page.click('.tabbar a:last-child'));
  await leads(page, /^\/tills$/, () => page.click('main a[href="/tills"]'));
  await fill(page, { name: 'Counter' });
  await press(page, 'Enroll this browser', /^\/till\/pin$/);
  await shows(page, /Who is at the till\?/);
}

test('an owner sets up a shop, sells, redeems, refunds, resends and closes the day', async () => {
  await using database = await databaseToServe();
  const { environment } = database;
  await using service = await serve(environment);
  const folder = dirname((environment['DATABASE_URL'] ?? '').replace(/^file:/, ''));
  const { output } = await command(environment, 'setup', 'link');

  await using office = await open(service);
  const owner = office.page;
  await setUp(office, /\/setup\/\S+/.exec(output)?.[0] ?? assert.fail(output));
  const printed = await sellPrinted(owner);
  await sellByEmail(owner);
  const [sent = assert.fail()] = await emailsTo(folder, 'lin@example.com', 1);
  const emailed = codeIn(sent);
  await using bos = await open(service, { viewport: phone });
  await joinAsBo(bos, await inviteBo(owner));

  await using counter = await open(service, {
    viewport: phone,
    expected: [/favicon\.ico$/, /^status 404: POST .*\/till\/find$/],
  });
  const till = counter.page;
  await enroll(counter);
  for (const digit of '2580') await till.tap(`[data-digit="${digit}"]`);
  await press(till, 'Unlock', /^\/till$/);
  await shows(till, /Scan the card, or type its code/);

  // Scan, redeem everything, undo; then redeem a part.
  await scan(till, printed, /^\/till\/card\//);
  await till.tap('[data-fill="50.00"]');
  await leads(till, /^\/till\/redeemed\//, () => till.tap('#pay'));
  await shows(till, /€50\.00 redeemed from/);
  await press(till, 'Undo', /^\/till\/redeemed\//);
  await shows(till, /The redemption was undone/);
  await scan(till, printed, /^\/till\/card\//);
  for (const digit of '1250') await till.tap(`[data-digit="${digit}"]`);
  await shows(till, /Redeem €12\.50/, /leaves €37\.50/);
  await leads(till, /^\/till\/redeemed\//, () => till.tap('#pay'));
  await shows(till, /€12\.50 redeemed from .* €37\.50 left/);
  await press(till, 'Receipt', /^\/till\/receipts\//);
  await shows(till, /Balance before €50\.00/);

  // A refund to the card, and a sale.
  await press(till, 'Back to the till', /^\/till$/);
  await press(till, 'Refund', /^\/till\/refund$/);
  await fill(till, { find: printed });
  await press(till, 'Find the redemption', /^\/till\/refund\/card\//);
  for (const digit of '250') await till.tap(`[data-digit="${digit}"]`);
  await shows(till, /€40\.00 will be on the card/);
  await press(till, 'Refund €2.50 to the card', /^\/till\/refund\/done\//);
  await shows(till, /€2\.50 refunded to the card .* Balance: €40\.00/);
  await press(till, 'Next customer', /^\/till$/);
  await press(till, 'Sell', /^\/till\/sell$/);
  await till.click('input[value=new]');
  for (const digit of '2500') await till.tap(`[data-digit="${digit}"]`);
  await press(till, 'Sell for €25.00', /^\/till\/sold\//);
  await shows(till, /€25\.00 sold on the card/);
  await press(till, 'Next customer', /^\/till$/);

  // A new code for Lin: the old one stops working at the till.
  await press(owner, 'Gift cards', /^\/cards$/);
  await fill(owner, { q: 'lin@example.com' });
  await press(owner, 'Find', /^\/cards$/);
  await leads(owner, /^\/cards\/\d+$/, () => owner.click('.table a[href^="/cards/"]'));
  await leads(owner, /^\/cards\/\d+\/resend$/, () => owner.click('.rows a[href$="/resend"]'));
  await shows(owner, /€40\.00 moves to a new code\. The old code stops at once/);
  await press(owner, 'Replace the card', /^\/cards\//);
  await shows(owner, /The card has a new code\. The email is kept on this machine and not sent/);
  const [, again = assert.fail()] = await emailsTo(folder, 'lin@example.com', 2);
  const replaced = codeIn(again);
  assert.notEqual(replaced, emailed);
  await typeAsScanner(till, emailed);
  await till.waitForSelector('#code-error');
  await shows(till, /was replaced by a new one/);
  await scan(till, replaced, /^\/till\/card\//);
  await shows(till, /Lin .* €40\.00/);

  // The day: 50 and 40 sold by Ada, 25 by Bo.
  assert.equal(await counter.open('/till'), 200);
  await press(till, 'Today’s totals', /^\/till\/day$/);
  await shows(
    till,
    /Your figures Redeemed €12\.50 1 time\./,
    /Sold 1 card · €25\.00 Refunded 1 · €2\.50 Undone 1 · €50\.00/,
  );
  assert.equal(await office.open('/till/day'), 200);
  await shows(owner, /Sold 3 cards · €115\.00/, /Ada Lovelace €90\.00/, /Bo €25\.00/, /Counter €25\.00/);
  assert.equal(await office.open('/today'), 200);
  // The words have one meaning at the till and here.
  await shows(
    owner,
    /Sold 3 cards · €115\.00 Redeemed 1 time · €12\.50 Refunded 1 time · €2\.50 Undone 1 time · €50\.00/,
  );
  await press(owner, 'Audit log', /^\/audit$/);
  await shows(owner, ...auditLog);
  await press(till, 'Next card', /^\/till$/);
  await till.tap('details.menu summary');
  await press(till, 'Lock: next person', /^\/till\/pin$/);
  for (const window of [office, bos, counter]) assertPages(window);
});

test('without scripts, a cashier sells and redeems on a phone', async () => {
  await using database = await databaseToServe();
  const { environment } = database;
  await openShop(environment, 'flowers.example');
  await using service = await serve(environment);
  const { output } = await command(environment, 'staff', 'invite', 'bo@example.com', '--role', 'cashier');
  const invitation = /\/join\/\S+/.exec(output)?.[0] ?? assert.fail(output);
  await using window = await open(service, { viewport: phone, javaScript: false });
  const { page } = window;
  await joinAsBo(window, invitation);
  assert.equal(await window.open('/till'), 200);
  await shows(page, /Scan the card, or type its code/);
  await press(page, 'Sell', /^\/till\/sell$/);
  await fill(page, { amount: '30' });
  await page.click('input[value=new]');
  await press(page, 'Sell a card', /^\/till\/sold\//);
  await shows(page, /\$30\.00 sold on the card/);
  const code = await page.$eval('#new-code', (shown) => shown.textContent.trim());
  await press(page, 'Next customer', /^\/till$/);
  await fill(page, { code });
  await press(page, 'Find', /^\/till\/card\//);
  await fill(page, { amount: '12.50' });
  await leads(page, /^\/till\/redeemed\//, () => page.click('#pay'));
  await shows(page, /\$12\.50 redeemed from .* \$17\.50 left/);
  await press(page, 'Undo', /^\/till\/redeemed\//);
  await shows(page, /The redemption was undone/);
  await press(page, 'Next card', /^\/till$/);
  await press(page, 'Today’s totals', /^\/till\/day$/);
  await shows(page, /Sold 1 card · \$30\.00/, /Undone 1 · \$12\.50/);
  assertPages(window);
});
