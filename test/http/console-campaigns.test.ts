/** A batch on the pages as a campaign: its figures and lists, its emails at another time or cancelled, and other addresses. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openBrowser, postFiles, type Browser } from '../support/browser.ts';
import { formOf, openStaffedShop, sendForm, textOfPage, type StaffedShop } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { locationOf } from '../support/till.ts';
import { reply, smtpServer } from '../delivery/email/smtp-server.ts';

const path = '/cards/batches';
const dayMs = 86_400_000;

type Issued = { readonly at: string; readonly id: string };

/** Issues the cards of a file. @returns the path of the batch, once all are issued. */
async function issueFile(
  browser: Browser,
  rows: readonly string[],
  { total, ...sent }: Readonly<Record<string, string>>,
): Promise<Issued> {
  const name = 'Thank-you November';
  const checked = await browser.post(`${path}/new`, { kind: 'file', name, rows: rows.join('\r\n') });
  assert.equal(checked.status, 200, textOfPage(checked));
  const form = { ...formOf(checked, `${path}/issue`), ...sent };
  const figures = { expected_count: String(rows.length - 1), expected_total: total ?? '' };
  const issued = await browser.post(`${path}/issue`, { ...form, ...figures });
  assert.equal(issued.status, 303, textOfPage(issued));
  const at = locationOf(issued);
  await until(async () => !(await browser.get(at)).text.includes('http-equiv="refresh"'));
  return { at, id: at.slice(at.lastIndexOf('/') + 1) };
}

async function statesOf({ service }: StaffedShop): Promise<string> {
  const rows = await service.query(
    "select state from email_deliveries where kind = 'gift_card' order by state, id",
  );
  return rows.map(({ state }) => state).join();
}

async function actionsOf({ service }: StaffedShop): Promise<string> {
  const rows = await service.query(
    "select action from staff_actions where action like 'batch-%' order by id",
  );
  return rows.map(({ action }) => action).join();
}

test('emails of a batch are scheduled, get another time and are cancelled, each once and only by managers', async () => {
  await using shop = await openStaffedShop();
  const [manager, accountant] = [await shop.as('manager'), await shop.as('accountant')];
  const { clock } = shop.service;
  const day = (days: number): string => new Date(clock.now() + days * dayMs).toISOString().slice(0, 10);
  const rows = [
    'initial_value,recipient_name,recipient_email,expires_on',
    `25.00,Ada,ada@example.com,${day(60)}`,
    `25.00,Grace,grace@example.com,${day(60)}`,
    '25.00,Mary,,',
  ];
  const checked = await manager.post(`${path}/new`, { kind: 'file', rows: rows.join('\r\n') });
  const form = { ...formOf(checked, `${path}/issue`), expected_count: '3', expected_total: '75' };
  for (const [send, said] of [
    [day(-1), /Enter a date and a time/],
    [day(61), /expires before this day/],
    ['2026-02-30', /Enter a date and a time/],
  ] as const) {
    const rejected = await manager.post(`${path}/issue`, { ...form, send_date: send, send_time: '10:00' });
    assert.equal(rejected.status, 422);
    assert.match(textOfPage(rejected), said, send);
  }
  const { at, id } = await issueFile(manager, rows, { total: '75', send_date: day(10), send_time: '10:00' });
  assert.equal(await statesOf(shop), 'scheduled,scheduled');
  const shown = await manager.get(at);
  assert.match(textOfPage(shown), /of 3 Sent 0 Scheduled 2 Viewed 0 Redeemed 0 1 card has no email/);
  assert.match(shown.text, new RegExp(`href="/cards\\?batch_id=${id}&amp;email_status=scheduled">2<`));
  const scheduled = textOfPage(await manager.get(`/cards?batch_id=${id}&email_status=scheduled`));
  assert.match(scheduled, /Email: Scheduled.*Many cards: Thank-you November.*2 cards/s);
  assert.match(
    textOfPage(await manager.get(`/emails?batch=${id}`)),
    /Emails of Thank-you November.*ada@.*|grace@/s,
  );

  const watched = await accountant.get(at);
  assert.match(textOfPage(watched), /Scheduled 2/);
  assert.doesNotMatch(watched.text, /unsent|codes\.csv|undelivered/);
  assert.match(textOfPage(await accountant.get(path)), /Thank-you November/);
  for (const each of ['unsent', 'undelivered', 'print'])
    assert.equal((await accountant.get(`${at}/${each}`)).status, 403, each);
  for (const each of [
    'undelivered.csv',
    'undelivered.xlsx',
    'cancel',
    'reschedule',
    'addresses',
    'correct',
    'resend',
    'letters.csv',
  ])
    assert.equal((await accountant.post(`${at}/${each}`)).status, 403, each);
  assert.equal((await (await shop.as('cashier')).get(at)).status, 403);

  const unsent = await manager.get(`${at}/unsent`);
  assert.match(textOfPage(unsent), /2 emails with codes are not sent/);
  const moved = formOf(unsent, `${at}/reschedule`);
  for (const send of [day(-2), '', day(500)]) {
    const rejected = await manager.post(`${at}/reschedule`, {
      ...moved,
      send_date: send,
      send_time: '10:00',
    });
    assert.equal(rejected.status, 422, send);
  }
  const late = await manager.post(`${at}/reschedule`, { ...moved, send_date: day(61), send_time: '10:00' });
  assert.match(textOfPage(late), /expires before this day/);
  const times = { send_date: day(20), send_time: '18:30' };
  const first = await manager.post(`${at}/reschedule`, { ...moved, ...times });
  const repeated = await manager.post(`${at}/reschedule`, { ...moved, ...times, send_date: day(30) });
  assert.deepEqual([first.status, locationOf(repeated)], [303, locationOf(first)]);
  assert.match(textOfPage(await manager.get(locationOf(first))), /2 emails have the new time/);
  const [{ n } = {}] = await shop.service.query('select count(distinct send_at) as n from email_deliveries');
  assert.equal(Number(n), 1);

  const cancel = formOf(await manager.get(`${at}/unsent`), `${at}/cancel`);
  assert.equal((await manager.post(`${at}/cancel`, {})).status, 422);
  const done = [await manager.post(`${at}/cancel`, cancel), await manager.post(`${at}/cancel`, cancel)];
  assert.equal(locationOf(done[0] ?? first), locationOf(done[1] ?? first));
  assert.match(
    textOfPage(await manager.get(locationOf(done[0] ?? first))),
    /2 emails were cancelled\. 0 had already/,
  );
  assert.equal(await statesOf(shop), 'cancelled,cancelled');
  assert.match(textOfPage(await manager.get(at)), /Cancelled 2/);
  assert.equal(await actionsOf(shop), 'batch-issued,batch-rescheduled,batch-cancelled');
});

test('addresses that bounced are corrected or tried again, and views and redemptions are counted', async () => {
  const rejected = new Set(['ada@exmaple.com', 'grace@example.com', 'mary@example.com']);
  await using server = await smtpServer({
    onRcptTo: ({ address }, _session, done) =>
      done(rejected.has(address) ? reply(550, '5.1.1 no such user') : null),
  });
  const environment = { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example' };
  await using shop = await openStaffedShop({ environment });
  const manager = await shop.as('manager');
  const rows = [
    'initial_value,recipient_name,recipient_email',
    '25.00,Ada,ada@exmaple.com',
    '25.00,Grace,grace@example.com',
    '25.00,Mary,mary@example.com',
    '25.00,Ida,ida@example.com',
    '25.00,=1+1,',
  ];
  const { at, id } = await issueFile(manager, rows, { total: '125' });
  await until(async () => (await statesOf(shop)) === 'bounced,bounced,bounced,sent');
  assert.match(textOfPage(await manager.get(at)), /Sent 1 Bounced 3 Viewed 0.*Correct 3 addresses/);
  const form = await manager.get(`${at}/undelivered`);
  assert.match(textOfPage(form), /Ada.*The mail server does not know this mailbox.*Grace.*Mary/s);
  const fields = formOf(form, `${at}/correct`);
  const nameOf = (address: string): string =>
    Object.entries(fields).find(([, value]) => value === address)?.[0] ?? assert.fail(address);
  const unchanged = await manager.post(`${at}/correct`, fields);
  assert.match(textOfPage(unchanged), /Change at least one address/);
  const wrong = { ...fields, [nameOf('ada@exmaple.com')]: 'ada@@example.com', [nameOf('grace@example.com')]: 'g@example.com' }; // prettier-ignore
  const again = await manager.post(`${at}/correct`, wrong);
  assert.equal(again.status, 422);
  assert.match(textOfPage(again), /Enter one valid email address/);
  assert.match(again.text, /value="ada@@example\.com"[^>]*aria-invalid="true"/);
  assert.equal(await statesOf(shop), 'bounced,bounced,bounced,sent');
  const table = await manager.post(`${at}/undelivered.csv`);
  const lines = table.text.replace('\uFEFF', '').split('\r\n');
  assert.equal(lines[0], 'Name,Address that did not work,Reason,Right address');
  assert.match(lines[1] ?? '', /^Ada,ada@exmaple\.com,The mail server does not know this mailbox/);
  assert.equal((await manager.post(`${at}/undelivered.xlsx`)).bytes?.subarray(0, 2).toString(), 'PK');
  for (const [content, said] of [
    [null, /Choose a file/],
    ['Name,Email\r\nAda,ada@example.com\r\n', /no line with one of these addresses/],
    ['grace@example.com,a@example.com,b@example.com', /no line.*For 1 address, the file has no valid/],
    ['%PDF-1.7\u0000\u0001', /not a table that can be read/],
    ['x\r\n'.repeat(10_001), /more than 10,000 lines/],
  ] as const) {
    const rejectedFile = await postFiles(manager, `${at}/addresses`, { files: { table: content } });
    assert.equal(rejectedFile.status, 422, content ?? '');
    assert.match(textOfPage(rejectedFile), said);
  }
  const fixed = [`${lines[1]}Ada@Example.com`, `${lines[2]}`, 'mary@example.com,m@@example.com'].join('\r\n');
  const filled = await postFiles(manager, `${at}/addresses`, { files: { table: fixed } });
  assert.equal(filled.status, 200);
  assert.match(textOfPage(filled), /1 address of the file was filled in.*For 1 address, the file has no/s);
  assert.equal(await statesOf(shop), 'bounced,bounced,bounced,sent', 'nothing is sent yet');
  const filledIn = formOf(filled, `${at}/correct`);
  assert.equal(filledIn[nameOf('ada@exmaple.com')], 'Ada@Example.com');
  const right = { ...filledIn, [nameOf('grace@example.com')]: 'g@example.com' };
  const corrected = [await manager.post(`${at}/correct`, right), await manager.post(`${at}/correct`, right)];
  assert.deepEqual(
    corrected.map(({ status }) => status),
    [303, 303],
  );
  await until(async () => (await statesOf(shop)) === 'bounced,bounced,bounced,sent,sent,sent');
  assert.match(textOfPage(await manager.get(at)), /Sent 3 Bounced 1 .*Correct 1 address/);
  rejected.delete('mary@example.com');
  const resend = formOf(await manager.get(`${at}/undelivered`), `${at}/resend`);
  const sent = [await manager.post(`${at}/resend`, resend), await manager.post(`${at}/resend`, resend)];
  assert.match(
    textOfPage(await manager.get(locationOf(sent[1] ?? form))),
    /A new code is on its way to 1 address/,
  );
  await until(async () => (await statesOf(shop)) === 'bounced,bounced,bounced,sent,sent,sent,sent');
  assert.match(textOfPage(await manager.get(`${at}/undelivered`)), /has an email that was not rejected/);

  const identity = { phone: '+33 1 42', website: 'flowers.example' };
  assert.equal((await sendForm(await shop.as('owner'), '/settings', identity)).status, 303);
  const letters = await manager.post(`${at}/letters.csv`);
  assert.match(letters.headers.get('content-disposition') ?? '', /letters-\d+\.csv/);
  const [head, line, end] = letters.text.split('\r\n');
  const columns = 'Name,Email,From,Code,Amount,Valid until,Link,Message,Shop,Contact of the shop';
  assert.equal(head?.replace('\uFEFF', ''), columns);
  const [, name, code = ''] = /^('=1\+1),,,'?([A-Z\d ]{19}),€25\.00,,/.exec(line ?? '') ?? [];
  assert.equal(name, "'=1+1");
  assert.match(line ?? '', /,Flowers,".?\+33 1 42\nflowers\.example"$/);
  assert.equal(end, '', 'cards that were emailed are not in the list');

  const visitor = openBrowser(shop.service);
  for (let view = 0; view < 2; view += 1) assert.equal((await visitor.post('/b', { code })).status, 200);
  const spent = await shop.ask('POST /gift_card/redeem', { json: { code, amount: '4.50' } });
  assert.equal(spent.status, 201, spent.text);
  const page = await manager.get(at);
  assert.match(textOfPage(page), /Viewed 1 Redeemed 1 · €4\.50/);
  for (const query of ['viewed=yes', 'redeemed=yes']) {
    assert.match(page.text, new RegExp(`href="/cards\\?batch_id=${id}&amp;${query}"`));
    assert.match(textOfPage(await manager.get(`/cards?batch_id=${id}&${query}`)), /1 card\b/);
  }
  const listed = await shop.ask(`GET /gift_cards?batch_id=${id}`);
  assert.equal((listed.json as { readonly gift_cards: readonly unknown[] }).gift_cards.length, 5);
  const counted = await shop.ask(`GET /gift_cards/count?batch_id=${Number(id) + 1}`);
  assert.deepEqual(counted.json, { count: 0, precision: 'exact' });
  assert.equal(
    await actionsOf(shop),
    'batch-issued,batch-addresses-read,batch-addresses-read,batch-corrected,batch-resent,batch-codes-read',
  );
});
