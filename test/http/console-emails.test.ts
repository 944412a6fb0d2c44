/** The pages of emails: what was sent, why an email failed, and what a person can do about it. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Browser } from '../support/browser.ts';
import { submitForm } from '../support/console.ts';
import { formOf, openStaffedShop, textOfPage, type StaffedShop } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { locationOf } from '../support/till.ts';
import { receivedEmails } from '../delivery/email/received.ts';
import { reply, smtpServer } from '../delivery/email/smtp-server.ts';

/** Rejects some addresses. */
const rejections: ReadonlyMap<string, Error> = new Map([
  ['grace@exmaple.com', reply(550, `5.1.1 <b>no such user</b> ${'x'.repeat(300)}`)],
  ['slow@example.com', reply(451, '4.7.1 greylisted')],
  ['full@example.com', reply(552, '5.2.2 over quota')],
]);

async function recipientOf(shop: StaffedShop, id: number): Promise<unknown> {
  const { json } = await shop.ask(`GET /gift_card/${id}`);
  return (json as { readonly gift_card: { readonly recipient_email: unknown } }).gift_card.recipient_email;
}

/** The path of the page of the only email to an address. */
async function pathTo(browser: Browser, address: string, list = '/emails'): Promise<string> {
  const { text } = await browser.get(list);
  const found = Array.from(text.matchAll(/"(\/emails\/\d+)">([^<]*)</g)).filter(([, , to]) => to === address);
  assert.equal(found.length, 1, `${address} in ${text}`);
  return found[0]?.[1] ?? '';
}

async function statesOf({ service }: StaffedShop): Promise<readonly unknown[]> {
  return (await service.query('select state from email_deliveries order by id')).map(({ state }) => state);
}

async function actionsOf({ service }: StaffedShop, name: string): Promise<number> {
  return (await service.query('select id from staff_actions where action = ?', name)).length;
}

test('emails are found by an exact address or a code, which is in no URL', async () => {
  await using shop = await openStaffedShop();
  const accountant = await shop.as('accountant');
  const card = await shop.issue({ recipient_email: 'grace@example.com', email: 'ada@example.com' });
  await shop.issue({ recipient_email: 'emma@example.com' });
  await until(async () => (await statesOf(shop)).length === 3);
  const found = async (q: string) => {
    const response = await accountant.post('/emails/find', { q });
    assert.equal(response.status, 303, response.text);
    const path = response.headers.get('location') ?? '';
    assert.ok(!path.includes(card.code));
    return { path, ...(await accountant.get(path)) };
  };
  for (const q of [
    'ADA@example.com ',
    'grace@example.com',
    card.code.toUpperCase(),
    card.code.replace(/^..../, '$&-'),
  ]) {
    const { path, status, text } = await found(q);
    assert.equal(status, 200);
    assert.match(
      text,
      />grace@example\.com<.*>ada@example\.com<|>ada@example\.com<.*>grace@example\.com</s,
      q,
    );
    assert.ok(!text.includes('emma@'), q);
    // The states and the kind keep the search.
    const [, pill = ''] = /href="(\/emails\?[^"]*state=sent[^"]*)"/.exec(text) ?? [];
    assert.ok(pill.replaceAll('&amp;', '&').startsWith(path), pill);
    const [name = '', value = ''] = path.slice('/emails?'.length).split('=');
    assert.ok(text.includes(`name="${name}" value="${decodeURIComponent(value)}"`), q);
  }
  // An address that no customer has is looked for in the addresses of emails.
  assert.match(
    textOfPage(await found('eve@example.com')),
    /Emails with eve@example\.com in the address.*No email is in this list/,
  );
  assert.equal((await found('')).path, '/emails');
  for (const path of [
    '/emails?email=%3Cb%3E',
    '/emails?card=7',
    '/emails?card=x',
    '/emails?email=ada%40example.com&card=7',
  ])
    assert.equal((await accountant.get(path)).status, 200, path);
  for (const [q, status] of [
    ['\u0000', 422],
    ['x'.repeat(101), 422],
    ['dfe1yzj6en68b3b8', 404],
  ] as const) {
    const response = await accountant.post('/emails/find', { q });
    assert.equal(response.status, status, q);
    assert.match(
      textOfPage(response),
      /Enter part of an email address or of a name, or the whole code of a card/,
    );
  }
  const cashier = await shop.as('cashier');
  assert.equal((await cashier.post('/emails/find', { q: 'ada@example.com' })).status, 403);
});

test('emails are found by a part of an address, of a name or of a code, and show a name and an amount', async () => {
  await using shop = await openStaffedShop();
  const accountant = await shop.as('accountant');
  const alan = await shop.issue({
    initial_value: '25.00',
    recipient_email: 'a.turing@example.com',
    recipient_name: 'Alan <b>Turing',
  });
  await shop.issue({ initial_value: '40.00', recipient_email: 'margaret@example.com' });
  await until(async () => (await statesOf(shop)).length === 2);
  const found = async (q: string): Promise<string> => {
    const response = await accountant.post('/emails/find', { q });
    assert.equal(response.status, 303, q);
    return (await accountant.get(response.headers.get('location') ?? '')).text;
  };
  for (const q of ['Alan', 'turing', 'A.TUR', ' alan <b', '“Turing”', alan.last_characters]) {
    const text = await found(q);
    assert.match(text, /a\.turing@example\.com/, q);
    assert.ok(text.includes('for <bdi>Alan &lt;b&gt;Turing</bdi>'), q);
    assert.match(text, /Gift card · <span class="nowrap">€25\.00</, q);
    assert.doesNotMatch(text, /margaret@/, q);
    // The states and the kind keep the search.
    assert.match(text, /href="\/emails\?text=[^"]*state=sent/, q);
    assert.match(text, /<input type="hidden" name="text"/, q);
  }
  // A word can also be a code, which no card has.
  assert.match(await found('margaret'), /margaret@example\.com/);
  assert.match(await found('@example.com'), /turing@.*|margaret@/s);
  assert.match(await found('Grace'), /No email is in this list/);
  for (const path of [
    '/emails?text=%25',
    '/emails?text=%00',
    `/emails?text=${'x'.repeat(300)}`,
    '/emails?text=a&before=x',
  ])
    assert.equal((await accountant.get(path)).status, 200, path);
});

test('a bounced email is shown with its reason, and a new code goes to the corrected address once', async () => {
  await using server = await smtpServer({
    onRcptTo: ({ address }, _session, done) => done(rejections.get(address) ?? null),
  });
  const environment = { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example' };
  await using shop = await openStaffedShop({ environment });
  const [manager, accountant] = [await shop.as('manager'), await shop.as('accountant')];
  assert.match(textOfPage(await manager.get('/emails')), /No emails yet/);
  const card = await shop.issue({ recipient_email: 'grace@exmaple.com', email: 'ada@example.com' });
  await shop.issue({ recipient_email: 'slow@example.com' });
  await shop.issue({ recipient_email: 'full@example.com' });
  const ended = ['bounced', 'sent', 'deferred', 'bounced'];
  await until(async () => (await statesOf(shop)).join() === ended.join());

  const all = await accountant.get('/emails');
  const listed = textOfPage(all);
  assert.match(listed, /The codes of 2 cards have not reached anyone/);
  assert.match(listed, /full@example\.com .*slow@example\.com .*ada@example\.com .*grace@exmaple\.com/);
  assert.match(
    listed,
    /Bounced The mailbox is full\..*Retrying The mail server cannot accept the email at the moment/,
  );
  assert.match(listed, /Waiting 1 /);
  assert.match(
    listed,
    new RegExp(`Gift card · €50.00 •••• ${card.last_characters} Bounced The mail server does not`),
  );
  assert.ok(all.text.includes(`<a class="soft code nowrap" href="/cards/${card.id}">`), all.text);
  const failed = await manager.get('/emails?state=failed&kind=gift_card');
  assert.match(failed.text, /exmaple/);
  assert.doesNotMatch(failed.text, /ada@|slow@/);
  assert.match((await manager.get('/emails?kind=receipt')).text, /ada@/);
  assert.match(textOfPage(await manager.get('/emails?state=cancelled')), /No email is in this list/);
  assert.equal((await (await shop.as('cashier')).get('/emails')).status, 403);
  assert.match((await manager.get('/today')).text, /could not be delivered/);

  const path = await pathTo(manager, 'grace@exmaple.com');
  const page = await manager.get(path);
  assert.match(page.text, /550 5\.1\.1 &lt;b&gt;no such user&lt;\/b&gt; x{100,200}…</);
  assert.match(textOfPage(page), /Attempts 1 .*The mail server rejected it permanently/);
  assert.match(textOfPage(page), /a new code goes to this address and the old one stops working/);
  assert.doesNotMatch((await accountant.get(path)).text, /<form[^>]*correct/);
  assert.equal((await accountant.post(`${path}/correct`, {})).status, 403);
  const action = `${path}/correct`;
  const { recipient, ...form } = formOf(page, action);
  assert.equal(form['address'], 'grace@exmaple.com');
  assert.equal(recipient, 'yes', 'the recipient is corrected as well, unless staff clear the box');
  for (const address of ['grace@', '', 'grace@exmaple.com', `${'x'.repeat(5_000)}@example.com`]) {
    const rejected = await manager.post(action, { ...form, address });
    assert.equal(rejected.status, 422, address);
    assert.match(rejected.text, /id="address-error"/, address);
  }
  const withoutKey = await manager.post(action, { address: 'grace@example.com' });
  assert.equal(withoutKey.status, 422);
  assert.match(textOfPage(withoutKey), /The form was not complete/);

  assert.doesNotMatch((await manager.post(action, { ...form, address: 'x@' })).text, /value="yes" checked/);
  const stale = formOf(await manager.get(path), action);
  const responses = await Promise.all(
    ['grace@example.com', 'grace@example.com', 'other@example.com'].map((address) =>
      manager.post(action, { ...form, address }),
    ),
  );
  const [location = ''] = responses.map(({ headers }) =>
    (headers.get('location') ?? '').replace('&again=1', ''),
  );
  for (const response of responses) {
    assert.equal(response.status, 303, response.text);
    assert.ok(response.headers.get('location')?.startsWith(location), location);
  }
  assert.equal(await actionsOf(shop, 'code-sent'), 1);
  assert.equal(await actionsOf(shop, 'recipient-corrected'), 0);
  assert.equal(await recipientOf(shop, card.id), 'grace@exmaple.com');
  await until(async () => Promise.resolve(receivedEmails(server).length === 2));
  const received = receivedEmails(server).find(({ to }) => to[0] !== 'ada@example.com');
  const shown = await manager.get(location);
  assert.match(textOfPage(shown), /A new code is on its way to this address/);
  const found = await shop.ask('POST /gift_card/lookup', { json: { code: received?.code ?? '' } });
  assert.equal((found.json as { readonly gift_card: { readonly id: number } }).gift_card.id, card.id);
  assert.equal((await shop.ask('POST /gift_card/lookup', { json: { code: card.code } })).status, 404);
  assert.ok(!shown.text.toLowerCase().includes(received?.code ?? '?'), 'a page never shows the code');
  const late = await manager.post(action, { ...stale, address: 'third@example.com' });
  assert.equal(late.status, 422);
  assert.match(textOfPage(late), /The email has changed/);
  assert.match(textOfPage(await manager.get('/emails?state=failed')), /New code sent/);
  assert.match(textOfPage(await manager.get('/emails')), /The code of 1 card has not reached anyone/);
  const other = await pathTo(manager, 'full@example.com');
  const disabled = await shop.ask(`PUT /gift_card/${await cardOf(manager, other)}`, {
    json: { disable: true },
  });
  assert.equal(disabled.status, 200, disabled.text);
  assert.match(textOfPage(await manager.get(other)), /This card is disabled/);
  assert.doesNotMatch(textOfPage(await manager.get('/emails')), /not reached anyone/);
});

test('a corrected address becomes that of the recipient, on this card only, and is erased with the recipient', async () => {
  await using server = await smtpServer({
    onRcptTo: ({ address }, _session, done) => done(rejections.get(address) ?? null),
  });
  const environment = { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example' };
  await using shop = await openStaffedShop({ environment });
  const manager = await shop.as('manager');
  const wrong = { recipient_email: 'full@example.com' };
  const [card, other] = [await shop.issue({ ...wrong, email: 'ada@example.com' }), await shop.issue(wrong)];
  const self = await shop.issue({ email: 'grace@exmaple.com' });
  await until(
    async () =>
      (await statesOf(shop)).filter((state) => state === 'sent' || state === 'bounced').length === 4,
  );
  const { text: list } = await manager.get(`/emails?state=failed`);
  const pathOf = (id: number): string => {
    const [, path] =
      list.match(new RegExp(`"(/emails/\\d+)">[^<]*</a></td><td[^>]*>(?:(?!<td).)*?<a [^>]*/cards/${id}"`)) ??
      [];
    return path ?? assert.fail(list);
  };
  const path = pathOf(card.id);
  const form = formOf(await manager.get(path), `${path}/correct`);
  const corrected = { ...form, address: 'Grace@example.com' };
  const responses = await Promise.all(
    Array.from({ length: 3 }, () => manager.post(`${path}/correct`, corrected)),
  );
  for (const { status, text } of responses) assert.equal(status, 303, text);
  assert.equal(await recipientOf(shop, card.id), 'Grace@example.com');
  assert.equal(await recipientOf(shop, other.id), 'full@example.com');
  assert.equal(await actionsOf(shop, 'recipient-corrected'), 1);
  const shown = textOfPage(await manager.get(`/cards/${card.id}`));
  assert.match(shown, /Recipient’s address corrected/);
  assert.match(shown, /New code \w{4} → \w{4}; the old code stopped working/);
  assert.match(textOfPage(await (await shop.as('owner')).get('/audit')), /Corrected a recipient’s address/);
  const [event, ...others] = await shop.service.query(
    "select data from events where type = 'gift_card.updated' and data like '%recipient_email\"]%'",
  );
  assert.deepEqual(others, []);
  assert.match(
    String(event?.['data']),
    /"recipient_email":"Grace@example.com".*"changed":\["recipient_id","recipient_email"\]/,
  );
  const found = await manager.get('/cards?email=grace@example.com');
  assert.ok(found.text.includes(`/cards/${card.id}"`), found.text);

  // The holder of this card is its customer, whose address is not the card's own.
  const own = pathOf(self.id);
  const page = await manager.get(own);
  assert.match(textOfPage(page), /the card keeps its customer/);
  const ownForm = formOf(page, `${own}/correct`);
  assert.equal(ownForm['recipient'], undefined);
  const forged = { ...ownForm, address: 'grace@example.com', recipient: 'yes' };
  assert.equal((await manager.post(`${own}/correct`, forged)).status, 303);
  assert.equal(await recipientOf(shop, self.id), null);

  const { json } = await shop.ask(`GET /gift_card/${card.id}`);
  const { recipient_id: person } = (json as { readonly gift_card: { readonly recipient_id: number } })
    .gift_card;
  assert.equal((await shop.ask(`POST /customers/${person}/erase`, { json: {} })).status, 202);
  await until(async () => {
    const erasure = await shop.ask(`GET /customers/${person}/erasure`);
    return (erasure.json as { readonly erasure: { readonly status: string } }).erasure.status === 'complete';
  });
  const internal = await shop.service.query(
    "select card_id from email_deliveries where kind = 'receipt' and address = 'ada@example.com'",
  );
  const cardId = Number(internal[0]?.['card_id']);
  const emails = await shop.service.query('select address from email_deliveries where card_id = ?', cardId);
  assert.deepEqual(
    emails.map(({ address }) => address).filter((address) => address !== ''),
    ['ada@example.com'],
  );
  const events = await shop.service.query('select data from events where subject_id = ?', cardId);
  assert.ok(events.length > 3);
  for (const { data } of events) assert.doesNotMatch(String(data), /full@example|grace@example/i);
});

/** The public id of the card of an email. */
async function cardOf(browser: Browser, path: string): Promise<string> {
  const { text } = await browser.get(path);
  return /href="\/cards\/(\d+)"/.exec(text)?.[1] ?? assert.fail(text);
}

test('a scheduled email is previewed without its code, cancelled once, and erased with its customer', async () => {
  await using shop = await openStaffedShop({ store: { name: 'Flowers & Co' } });
  const manager = await shop.as('manager');
  const day = Temporal.Instant.fromEpochMilliseconds(shop.service.clock.now()).add({ hours: 24 * 30 });
  const scheduled = { send_on: day.toString({ smallestUnit: 'second' }), recipient_name: '<Grace>' };
  const card = await shop.issue({
    ...scheduled,
    recipient_email: 'grace@example.com',
    message: 'Enjoy & smile',
  });
  assert.match(textOfPage(await manager.get('/emails')), /Scheduled 1 /);
  const path = await pathTo(manager, 'grace@example.com', '/emails?state=scheduled&kind=gift_card');
  const page = await manager.get(path);
  assert.match(page.headers.get('content-security-policy') ?? '', /; frame-src 'self'; /);
  assert.match(page.text, /<iframe [^>]*sandbox/);
  const preview = await manager.get(`${path}/preview`);
  assert.equal(preview.status, 200);
  assert.equal(
    preview.headers.get('content-security-policy'),
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
  );
  assert.match(preview.text, /•••• •••• •••• ••••/);
  assert.match(preview.text, /Enjoy &amp; smile/);
  assert.match(preview.text, /Flowers &amp; Co/);
  for (const part of [card.code, card.last_characters, card.code.slice(0, 4)])
    assert.ok(!preview.text.toLowerCase().includes(`>${part}`), 'a part of the code');
  assert.ok(!preview.text.toLowerCase().includes(card.code));

  const action = `${path}/cancel`;
  assert.equal((await (await shop.as('accountant')).post(action, {})).status, 403);
  const form = formOf(page, action);
  const open = formOf(await manager.get(path), action);
  const responses = await Promise.all([manager.post(action, form), manager.post(action, form)]);
  for (const { status, headers } of responses) {
    assert.equal(status, 303);
    assert.match(headers.get('location') ?? '', new RegExp(`^${path}\\?done=cancelled`));
  }
  assert.equal(await actionsOf(shop, 'email-cancelled'), 1);
  const cancelled = textOfPage(await manager.get(`${path}?done=cancelled`));
  assert.match(cancelled, /The email is cancelled\..*Cancelled A member of staff cancelled it/);
  assert.match(cancelled, /Email a new code/);
  const late = await manager.post(action, open);
  assert.equal(late.status, 422);
  assert.match(textOfPage(late), /The email has changed/);
  assert.deepEqual(await shop.service.query('select id from email_deliveries where code is not null'), []);
  const used = await shop.ask('POST /gift_card/lookup', { json: { code: card.code } });
  assert.equal(used.status, 200, 'the card stays valid');
  assert.match(textOfPage(await (await shop.as('owner')).get('/audit')), /Cancelled an email/);
  const history = await manager.get(`/cards/${card.id}`);
  assert.match(textOfPage(history), /Email cancelled/);
  assert.ok(history.text.includes(`<a href="${path}">`), history.text);

  const record = await shop.ask(`GET /gift_card/${card.id}`);
  const { recipient_id: person } = (record.json as { readonly gift_card: { readonly recipient_id: number } })
    .gift_card;
  assert.equal((await shop.ask(`POST /customers/${person}/erase`, { json: {} })).status, 202);
  await until(async () => {
    const { json } = await shop.ask(`GET /customers/${person}/erasure`);
    return (json as { readonly erasure: { readonly status: string } }).erasure.status === 'complete';
  });
  const list = await manager.get('/emails');
  assert.match(list.text, /<em>Erased<\/em>/);
  const erased = await manager.get(path);
  assert.match(textOfPage(erased), /The customer was erased/);
  assert.doesNotMatch(erased.text, /<iframe|Email a new code/);
  const none = await manager.get(`${path}/preview`);
  for (const { text } of [list, erased, none]) assert.doesNotMatch(text, /grace|Enjoy/i);
  assert.equal((await manager.get('/emails/1')).status, 404);
});

test('without a mail server, every page says that an email is kept on the machine and was not sent', async () => {
  await using shop = await openStaffedShop();
  const [owner, cashier] = [await shop.as('owner'), await shop.as('cashier')];
  const claims = /on its way|is being sent|accepted|[1-9]\d* of [1-9]/;
  const says = async (browser: Browser, path: string, kept: RegExp): Promise<string> => {
    const page = await browser.get(path);
    assert.equal(page.status, 200, path);
    const text = textOfPage(page);
    assert.match(text, kept, path);
    assert.ok(!claims.test(text), `${path}: ${text}`);
    return page.text;
  };
  const notice = /emails are kept on this machine and not sent/;
  const keptTo = /The email to grace@example\.com is kept on this machine and not sent/;

  await says(owner, '/cards/new', notice);
  const issued = await submitForm(owner, '/cards/new', {
    action: '/cards/new',
    fields: { amount: '50.00', recipient_email: 'grace@example.com', how: 'email' },
  });
  await says(owner, locationOf(issued), keptTo);
  const sold = await submitForm(cashier, '/till/sell?amount=20.00', {
    action: '/till/sell',
    fields: { email: 'grace@example.com', how: 'new' },
  });
  await says(cashier, locationOf(sold), keptTo);
  await until(async () => (await statesOf(shop)).join() === 'kept,kept');

  const list = await says(owner, '/emails', notice);
  assert.equal(list.split('Kept, not sent').length - 1, 3, 'two emails and the filter');
  assert.doesNotMatch(await says(owner, '/emails?state=kept', notice), /No email is in this list/);
  assert.match(textOfPage(await owner.get('/emails?state=sent')), /No email is in this list/);
  const [, path = ''] = /href="(\/emails\/\d+)"/.exec(list) ?? [];
  await says(owner, path, /It was not sent: it has been kept on this machine/);
  await says(owner, '/today', /Emails sent 0 of 2 · 2 kept on this machine, not sent/);
  const [, card = ''] = /href="(\/cards\/\d+)"/.exec(list) ?? [];
  await says(owner, card, /kept on this machine .*, not sent/);

  await says(owner, `${card}/resend`, notice);
  const resent = await submitForm(owner, `${card}/resend`, {
    fields: { how: 'email', address: 'grace@example.com' },
  });
  await says(owner, locationOf(resent), /new code\. The email is kept on this machine and not sent/);
  const tested = await submitForm(owner, '/settings/emails', { action: '/settings/emails/test' });
  await says(owner, locationOf(tested), /The test email is kept on this machine and was not sent/);
  const { json } = await shop.ask(`GET /gift_cards`);
  const ids = (json as { readonly gift_cards: readonly { readonly id: number }[] }).gift_cards;
  for (const { id } of ids) {
    const { json: detail } = await shop.ask(`GET /gift_cards/${id}`);
    const { email_status: status } = (detail as { readonly gift_card: { readonly email_status: string } })
      .gift_card;
    assert.ok(status === 'kept' || status === 'queued', status);
  }
});
