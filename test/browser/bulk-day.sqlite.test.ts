/**
 * Many cards in a real browser: a manager issues 500 cards from a spreadsheet, corrects an address that bounced, an owner
 * changes the brand, an accountant downloads the journal, and a customer checks and prints the card on a phone.
 */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { parse } from 'csv-parse/sync';
import { receivedEmails } from '../delivery/email/received.ts';
import { reply, smtpServer } from '../delivery/email/smtp-server.ts';
import { openChromium, type Page } from '../support/chromium.ts';
import { openStaffedShop } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { makeScratchFolder } from '../support/scratch.ts';
import { scan } from './scan.ts';
import { downloadTo, press, textOf } from './walk.ts';

const cards = 500;
const folder = makeScratchFolder('bulk-');
const chromium = await openChromium();
after(async () => {
  await chromium[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function fill(page: Page, values: Readonly<Record<string, string>>): Promise<void> {
  for (const [id, value] of Object.entries(values)) {
    await page.$eval(`#${id}`, (field) => ((field as HTMLInputElement).value = ''));
    await page.type(`#${id}`, value);
  }
}

/** Presses a button or link that downloads a file. @returns its rows by the names of the first line */
async function download(page: Page, text: string): Promise<readonly Readonly<Record<string, string>>[]> {
  const downloads = makeScratchFolder('downloads-');
  try {
    const target = `::-p-xpath(//*[self::a or self::button][normalize-space()='${text}'])`;
    const content = readFileSync(await downloadTo(page, downloads, () => page.click(target)));
    const delimiter = [',', ';'];
    return parse<Record<string, string>>(content, { columns: true, bom: true, delimiter });
  } finally {
    rmSync(downloads, { recursive: true, force: true });
  }
}

/** A file as a German spreadsheet saves it: Windows-1252, semicolons, decimal commas and the currency. */
function spreadsheet(name: string, changes: Readonly<Record<number, string>> = {}): string {
  const lines = Array.from({ length: cards }, (_, index) => `25,50 €;Käthe ${index + 1};;"Schöne; Grüße";`);
  lines[8] = '1.000,00;Jürgen Groß;;;31.12.2031';
  lines[9] = '40,00;Grace;grace@exmaple.com;;';
  for (const [line, changed] of Object.entries(changes)) lines[Number(line) - 2] = changed;
  const file = join(folder, name);
  const head = 'Betrag;Empfänger;Empfänger-E-Mail;Nachricht;Gültig bis';
  const text = `${[head, ...lines].join('\r\n')}\r\n`;
  // The euro sign is the only character that Latin-1 does not have.
  writeFileSync(file, Buffer.from(text.replaceAll('€', '\u0080'), 'latin1'));
  return file;
}

async function upload(page: Page, file: string, shown: RegExp): Promise<void> {
  const input = (await page.$('input#file')) ?? assert.fail('there is no field for a file');
  await input.uploadFile(file);
  const check = (await page.$('form:has(#file) button.first')) ?? assert.fail('no button');
  await Promise.all([page.waitForNavigation(), check.click()]);
  assert.match(await textOf(page), shown);
}

test('a shop issues 500 cards from a spreadsheet, corrects an address, and a customer prints a card', async () => {
  await using server = await smtpServer({
    onRcptTo: ({ address }, _session, done) =>
      done(address === 'grace@exmaple.com' ? reply(550, '5.1.1 no such user') : null),
  });
  const environment = { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example' };
  await using shop = await openStaffedShop({ environment });

  // The manager issues the cards.
  await using office = await chromium.window(shop.service, { as: await shop.as('manager') });
  const { page } = office;
  assert.equal(await office.open('/cards'), 200);
  await press(page, 'Many cards', /Many cards/);
  await press(page, 'Issue many cards', /Cards of a file/);
  const bad = spreadsheet('bad.csv', {
    3: '25,5O;Person 2;;;',
    7: '25,50;Person 6;person6.example;;',
    9: '40,00;Grace;Grace@exmaple.com;;',
  });
  await upload(
    page,
    bad,
    /Nothing was issued: 2 errors\..*Line 3 Person 2 Betrag “25,5O”.*Line 7 Person 6 Empfänger-E-Mail /,
  );
  await press(page, 'Leave out all 2', /Line 11 Grace · grace@exmaple\.com · €40\.00 Also in line 9/);
  await press(page, 'Keep only the first of each', /bad .*Ready to issue .*497 cards/);
  assert.equal(await office.open('/cards/batches/new'), 200);
  const total = (25.5 * (cards - 2) + 1_040).toFixed(2);
  await upload(page, spreadsheet('good.csv'), /Ready to issue .*500 cards .*1 card is emailed/);
  await fill(page, { expected_count: String(cards), expected_total: '€13,739.00' });
  await press(page, 'Issue the cards', /of 500 cards issued, of €13,739\.00 in all/);
  const batch = new URL(page.url()).pathname;
  await until(async () => {
    assert.equal(await office.open(batch), 200);
    return (await textOf(page)).includes('500 of 500 cards issued');
  });
  const codes = await download(page, 'Codes as CSV');
  assert.deepEqual(
    codes.slice(8, 10).map((row) => [row['Line'], row['Recipient’s name'], row['Amount sold']]),
    [
      ['10', 'Jürgen Groß', '1000.00'],
      ['11', 'Grace', '40.00'],
    ],
  );
  assert.equal(codes.length, cards);
  assert.equal(
    new Set(codes.map(({ Code: code }) => code).filter(Boolean)).size,
    cards - 1,
    'without the emailed one',
  );

  // The email bounced.
  await until(async () => {
    assert.equal(await office.open('/emails?state=failed'), 200);
    return (await textOf(page)).includes('grace@exmaple.com Gift card');
  });
  await press(
    page,
    'grace@exmaple.com',
    /The mail server does not know this mailbox|rejected it permanently/,
  );
  await fill(page, { address: 'grace@example.com' });
  await press(page, 'Send a new code', /A new code is on its way to this address/);
  await until(() => receivedEmails(server).some(({ to }) => to.includes('grace@example.com')));
  assert.equal(await office.open('/cards?email=grace@example.com'), 200);
  assert.match(await textOf(page), /Grace .*€40\.00/);

  // The owner changes the brand.
  await using owners = await chromium.window(shop.service, { as: await shop.as('owner') });
  assert.equal(await owners.open('/settings'), 200);
  await fill(owners.page, { color: '#7a1f3d' });
  await press(owners.page, 'Save', /The settings are saved/);
  assert.equal(await owners.open('/settings/emails'), 200);
  await press(owners.page, 'Send a test email to me', /The mail server has accepted the test email/);
  const tested = server.received.at(-1) ?? assert.fail('no email');
  assert.match(tested.message.toString('latin1').replaceAll('=\r\n', ''), /background:#7a1f3d/);

  // The accountant gets the journal of the month.
  await using books = await chromium.window(shop.service, { as: await shop.as('accountant') });
  assert.equal(await books.open('/books/journal'), 200);
  const [today = ''] = Temporal.Instant.fromEpochMilliseconds(shop.service.clock.now()).toString().split('T');
  await books.page.$eval(
    '#from',
    (field, day) => ((field as HTMLInputElement).value = day),
    `${today.slice(0, 8)}01`,
  );
  await books.page.$eval('#to', (field, day) => ((field as HTMLInputElement).value = day), today);
  await press(books.page, 'Show', /Debits equal credits: €13,739\.00/);
  const journal = await download(books.page, 'CSV');
  const cents = (amount = ''): number => Math.round(Number(amount || '0') * 100);
  const sum = (column: string): number => journal.reduce((all, row) => all + cents(row[column]), 0);
  assert.equal(sum('Debit'), Number(total) * 100);
  assert.equal(sum('Debit') - sum('Credit'), 0);
  // A German spreadsheet finds decimal commas.
  await books.page.setExtraHTTPHeaders({ 'accept-language': 'de' });
  await books.page.reload();
  const german = await books.page.$eval(
    'a[download][href*=".csv"]',
    async ({ href }) => await (await fetch(href)).text(),
  );
  const inGerman = parse<Record<string, string>>(german, { columns: true, bom: true, delimiter: ';' });
  assert.deepEqual(
    inGerman.map((row) => [row['Soll'], row['Haben']]),
    journal.map((row) => [row['Debit']?.replace('.', ','), row['Credit']?.replace('.', ',')]),
  );
  assert.ok(inGerman.some((row) => /^\d+,\d\d$/.test(row['Soll'] ?? '')));
  await books.page.setExtraHTTPHeaders({ 'accept-language': 'en' });

  // On a phone, a day is one line, and stays in place while the amounts scroll.
  await books.page.setViewport({ width: 390, height: 844 });
  assert.equal(await books.open('/books/activity'), 200);
  const row = await books.page.$eval('.report .scroll', (box) => {
    box.scrollLeft = 200;
    const day = box.querySelector('tbody th') ?? document.body;
    const lines = day.getClientRects()[0]?.height ?? 0;
    const left = day.getBoundingClientRect().left - box.getBoundingClientRect().left;
    return { scrolled: box.scrollLeft, left, lines, height: box.clientHeight };
  });
  assert.ok(row.scrolled > 0 && Math.abs(row.left) < 2, JSON.stringify(row));
  assert.ok(row.lines < 60 && row.height <= 844 * 0.8, JSON.stringify(row));

  // The customer follows the email on a phone.
  const email = receivedEmails(server).find(({ to }) => to.includes('grace@example.com'));
  const code = email?.code.toUpperCase() ?? '';
  const phone = { width: 390, height: 844, isMobile: true, hasTouch: true };
  await using customer = await chromium.window(shop.service, { viewport: phone });
  await Promise.all([customer.page.waitForSelector('.show-code'), customer.open(`/b/card#${code}`)]);
  assert.match(await textOf(customer.page), /€40\.00 to spend/);
  assert.equal(
    await customer.page.$eval('.gift .ground rect', (rect) => rect.getAttribute('fill')),
    '#7a1f3d',
  );
  assert.ok((await customer.page.evaluate(() => document.documentElement.scrollWidth)) <= phone.width);
  assert.equal(await scan(customer.page, '.qr-tap > svg'), code);
  await customer.page.evaluate(() => {
    globalThis.print = () => document.body.setAttribute('data-printed', '');
  });
  await customer.page.click('[data-print]');
  await customer.page.waitForSelector('[data-printed]');
  // Another kind of device reloads the page, whose script requests the card again.
  await customer.page.setViewport({ width: 1280, height: 1200 });
  await customer.page.emulateMediaType('print');
  await customer.page.waitForSelector('.symbols svg');
  assert.equal(await scan(customer.page, '.symbols svg'), code);
});
