/** The buy page and the page of an order, as a browser without scripts sees them. */

import assert from 'node:assert/strict';
import test, { after as atEnd } from 'node:test';
import { buyTextsOf, recipientLanguages, textsOfVisitor } from '../../src/features/recipient/pages/texts.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import {
  buyDomain,
  decide,
  giftForm,
  keyIn,
  openSandboxPage,
  order,
  redirectOf,
  startSelling,
  type FormValues,
} from '../support/buy-page.ts';
import { wallClockOf } from '../../src/platform/clock.ts';
import { saleToken } from '../../src/features/online-sales/service/begin.ts';
import { isWorkDone } from '../../src/features/online-sales/service/work.ts';
import { closeStore } from '../../src/features/moves/service/store-copy.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { findSaleOfForm } from '../../src/features/online-sales/storage/sale.ts';
import { findStoreByDomain } from '../../src/core/stores/storage/store.ts';
import { join, submitForm } from '../support/console.ts';
import { textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { startService, type TestService } from '../support/service.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';

const path = `/buy/${buyDomain}`;
const texts = buyTextsOf('en');

const selling = await startSelling();
atEnd(() => selling[Symbol.asyncDispose]());

function visitor(): Browser {
  return openBrowser(selling);
}

/** Orders and pays a card, and returns the path of its page. */
async function ordered(form: FormValues, fields?: FormValues): Promise<string> {
  const browser = visitor();
  const begun = await order(browser, form);
  assert.equal(begun.status, 303, textOfPage(begun));
  return await decide(browser, redirectOf(begun), fields);
}

const forMyself: FormValues = { ...giftForm, for: 'me', to: '', from: '', message: '', email: '' };

test('a store that sells nothing online has no buy page', async () => {
  await using service = await startService({ stores: [{ domain: buyDomain }] });
  const browser = openBrowser(service);
  for (const asked of [
    path,
    '/buy',
    '/buy/unknown.example',
    `${path}/order/1000000000000000_aaaaaaaaaaaaaaaaaaaaaa`,
  ])
    assert.equal((await browser.get(asked)).status, 404, asked);
});

test('the page of a store that has paused its sale says so, and sells nothing', async () => {
  await using service = await startSelling({ isOpen: false });
  const browser = openBrowser(service);
  const shown = await browser.get(path);
  assert.equal(shown.status, 200);
  assert.match(textOfPage(shown), new RegExp(texts.closedTitle));
  assert.doesNotMatch(shown.text, /<form/);
  const posted = await browser.post(path, { ...giftForm, key: 'a'.repeat(22) });
  assert.equal(posted.status, 409);
  assert.equal((await service.query('select count(*) as n from online_sales'))[0]?.['n'], 0);
});

test('the form has the amounts, terms, validity, provider and legal button of the store', async () => {
  const page = await visitor().get(path);
  assert.equal(page.status, 200);
  const said = textOfPage(page);
  for (const part of ['€25', '€50', '€100', texts.pay, 'Sandbox', 'Terms of gift cards', texts.withdrawHint])
    assert.ok(said.includes(part), part);
  assert.match(page.text, /href="https:\/\/flowers\.example\/terms"/);
  assert.equal(page.headers.get('cache-control'), 'no-store');
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
});

test('an owner tries the page with a test key, which visitors cannot use', async () => {
  await using service = await startService({
    stores: [{ domain: buyDomain, currency: 'EUR' }],
    beforeStart: async (database) => await openSandboxPage(database),
  });
  const owner = await join(service, 'owner');
  const tried = textOfPage(await owner.get(path));
  for (const part of [texts.testMode, texts.pay]) assert.ok(tried.includes(part), part);
  const closed = textOfPage(await openBrowser(service).get(path));
  assert.ok(closed.includes(texts.closedTitle), closed);
  const cashier = textOfPage(await (await join(service, 'cashier')).get(path));
  assert.ok(cashier.includes(texts.closedTitle), cashier);
});

test('each language has its own button, and the page is in the language that is chosen', async () => {
  const buttons = new Set<string>();
  for (const tag of recipientLanguages) {
    const { text } = await visitor().get(`${path}?lang=${tag}`);
    assert.match(
      text,
      new RegExp(`<html lang="${tag}" dir="${tag === 'ar' || tag === 'he' ? 'rtl' : 'ltr'}">`),
    );
    assert.ok(text.includes(buyTextsOf(tag).pay), tag);
    buttons.add(buyTextsOf(tag).pay);
  }
  assert.equal(buttons.size, recipientLanguages.length);
  const accepted = await visitor().request(path, { headers: { 'accept-language': 'de-AT' } });
  assert.ok(accepted.text.includes('Zahlungspflichtig bestellen'));
});

test('only pages of the domains of the shop show the form in a frame, without a bar', async () => {
  const framed = await visitor().get(`${path}?frame=1`);
  const policy = framed.headers.get('content-security-policy') ?? '';
  assert.match(policy, /frame-ancestors 'self' https:\/\/www\.flowers\.example$/);
  assert.doesNotMatch(framed.text, /class="shopbar"/);
  assert.match(framed.text, /target="_top"/);
  const orderPage = await visitor().get(await ordered(giftForm));
  assert.match(orderPage.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'$/);
});

test('a form with errors is shown again with all that was typed, and says each error twice', async () => {
  const browser = visitor();
  const wrong: readonly (readonly [string, FormValues, string, string])[] = [
    ['amount', { amount: 'own', own: '500' }, 'own', 'Enter an amount from €10.00 to €250.00.'],
    ['amount', { amount: 'own', own: 'much' }, 'own', 'Enter an amount from €10.00 to €250.00.'],
    ['amount', { amount: '77' }, 'own', 'Enter an amount from €10.00 to €250.00.'],
    ['to', { to: '' }, 'to', 'Enter a name of at most 60 characters.'],
    ['from', { from: 'x'.repeat(61) }, 'from', 'Enter a name of at most 60 characters.'],
    ['message', { message: 'See www.example.com' }, 'message', texts.linkError],
    ['message', { message: 'See parcel-fee.store' }, 'message', texts.linkError],
    ['message', { message: 'See evil。com' }, 'message', texts.linkError],
    ['message', { message: 'See ada@example' }, 'message', texts.linkError],
    ['from', { from: 'пример.рф' }, 'from', texts.linkError],
    ['from', { from: 'Invoice 499 USD, call +1 800 555 0199' }, 'from', texts.numberError],
    ['to', { to: 'Call 0800 555 0199' }, 'to', texts.numberError],
    ['message', { message: 'x'.repeat(501) }, 'message', 'Use at most 500 characters.'],
    ['email', { email: 'grace@examplecom' }, 'email', texts.addressError],
    ['email', { email: '' }, 'email', texts.addressError],
    ['buyer_email', { buyer_email: 'alan' }, 'buyer_email', texts.addressError],
    ['day', { when: 'day', day: '2020-01-01' }, 'day', 'Choose a day from '],
    ['day', { when: 'day', day: 'soon' }, 'day', texts.choiceError],
    ['when', { when: 'never' }, 'when', texts.choiceError],
    ['for', { for: 'nobody' }, 'for', texts.choiceError],
    ['design', { design: 'none' }, 'design', texts.choiceError],
  ];
  for (const [field, values, id, error] of wrong) {
    const form = { ...giftForm, ...values };
    const rejected = await order(browser, form);
    const about = JSON.stringify(values).slice(0, 60);
    assert.equal(rejected.status, 422, about);
    assert.match(rejected.text, new RegExp(`<li><a href="#${id}">`), about);
    const said = textOfPage(rejected);
    assert.ok(said.split(error).length >= 3, `${about}: ${field} has its error twice`);
    assert.match(said, new RegExp(texts.errors));
    assert.match(rejected.text, /value="alan(?:@example\.com)?"/, about);
    assert.ok(rejected.text.includes('Happy birthday, Grace!') || 'message' in values, about);
  }
  assert.equal(
    (await selling.query('select count(*) as n from online_sales where message like ?', 'See %'))[0]?.['n'],
    0,
  );
});

test('an own amount is read in the notation of the visitor', async () => {
  const browser = visitor();
  const german = `${path}?lang=de`;
  const begun = await order(browser, { ...giftForm, amount: 'own', own: '37,50 €' }, german);
  assert.equal(begun.status, 303, textOfPage(begun));
  assert.match(textOfPage(await browser.get(redirectOf(begun))), /€37\.50/);
});

test('a form that is submitted twice leads to one session, and one with other content is rejected', async () => {
  const browser = visitor();
  const key = keyIn((await browser.get(path)).text);
  const form = { ...giftForm, to: 'Twice', key };
  const [first, second] = await Promise.all([browser.post(path, form), browser.post(path, form)]);
  assert.deepEqual([first.status, second.status], [303, 303]);
  assert.equal(redirectOf(first), redirectOf(second));
  assert.equal(
    (await selling.query(`select count(*) as n from online_sales where recipient_name = 'Twice'`))[0]?.['n'],
    1,
  );
  const other = await browser.post(path, { ...form, amount: '10000' });
  assert.equal(other.status, 422);
  assert.match(textOfPage(other), new RegExp(texts.formError));
  assert.notEqual(keyIn(other.text), key);
  const page = await decide(browser, redirectOf(first));
  // A repetition after the payment leads to the order.
  const late = await browser.post(path, form);
  assert.equal(redirectOf(late), new URL(page, 'http://localhost').pathname);
});

test('a form without a key of the server is rejected', async () => {
  for (const key of ['', 'short', 'x'.repeat(10_000)]) {
    const rejected = await visitor().post(path, { ...giftForm, key });
    assert.equal(rejected.status, 422);
    assert.match(textOfPage(rejected), new RegExp(texts.formError));
  }
});

test('another site cannot submit the form', async () => {
  const browser = visitor();
  const key = keyIn((await browser.get(path)).text);
  const response = await browser.request(path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site' },
    body: new URLSearchParams({ ...giftForm, key }).toString(),
  });
  assert.equal(response.status, 403);
});

test('a gift is paid and sent, and its order never has the code', async () => {
  const browser = visitor();
  const page = await ordered(giftForm);
  const shown = await browser.get(page);
  assert.equal(shown.status, 200);
  assert.equal(shown.headers.get('cache-control'), 'no-store');
  assert.equal(shown.headers.get('referrer-policy'), 'no-referrer');
  const said = textOfPage(shown);
  for (const part of [
    'grace@example.com',
    'a•••@example.com',
    'Birthday, €50.00',
    'Visa •••• 4242',
    '20%: €8.33',
    texts.keepLink,
    texts.withdraw,
  ])
    assert.ok(said.includes(part), `${part}: ${said}`);
  assert.doesNotMatch(shown.text, /show-code|class="codeline/);
  const asked = await browser.post(`${new URL(page, 'http://localhost').pathname}/card`);
  assert.doesNotMatch(asked.text, /show-code|class="codeline/);
});

test('the link of an order is not guessable, and works only at its store', async () => {
  const browser = visitor();
  const { pathname } = new URL(await ordered(giftForm), 'http://localhost');
  const token = pathname.split('/').at(-1) ?? '';
  const other = token.replace(/_(.)/, (_, first: string) => `_${first === 'A' ? 'B' : 'A'}`);
  for (const wrong of [other, token.slice(0, -1), `${token}A`, 'x', '%00', 'a'.repeat(5_000)]) {
    const missed = await browser.get(`${path}/order/${wrong}`);
    assert.ok(missed.status === 404 || missed.status === 414, `${wrong.slice(0, 40)}: ${missed.status}`);
    assert.doesNotMatch(missed.text, /grace@example\.com/);
  }
});

test('a card for oneself is shown after a press of a button, and never in the URL', async () => {
  const browser = visitor();
  const page = await ordered(forMyself);
  const shown = await browser.get(page);
  assert.match(textOfPage(shown), new RegExp(texts.selfTitle));
  assert.doesNotMatch(shown.text, /show-code/);
  const { pathname } = new URL(page, 'http://localhost');
  const opened = await browser.post(`${pathname}/card`);
  assert.equal(opened.status, 200);
  const [, code = ''] = /id="shown-code" dir="ltr">([^<]+)</.exec(opened.text) ?? assert.fail(opened.text);
  const plain = code.replaceAll(' ', '').toLowerCase();
  assert.ok(opened.text.includes(`href="/b/${buyDomain}/card#${plain.toUpperCase()}"`), opened.text);
  assert.match(plain, /^[0-9a-z]{16}$/);
  assert.match(opened.text, /class="sheet only-print"/);
  const found = await browser.post(`/b/${buyDomain}`, { code: plain });
  assert.equal(found.status, 200, textOfPage(found));
  assert.match(textOfPage(found), /€50\.00/);
});

test('a buyer who sees the own card has opened it, and one who hands a card over has not', async () => {
  const viewedAt = async (page: string): Promise<unknown> => {
    const [, id] = /order\/(\d+)_/.exec(page) ?? [];
    const rows = await selling.query(
      'select viewed_at from gift_cards g join online_sales s on s.store_id = g.store_id and s.card_id = g.id where s.id = ?',
      selling.internalId(Number(id)),
    );
    return (rows[0] ?? assert.fail(page))['viewed_at'];
  };
  const browser = visitor();
  for (const [form, isOpened] of [
    [forMyself, true],
    [{ ...giftForm, when: 'self', email: '' }, false],
  ] as const) {
    const { pathname } = new URL(await ordered(form), 'http://localhost');
    await browser.get(pathname);
    assert.equal(await viewedAt(pathname), null);
    assert.match((await browser.post(`${pathname}/card`)).text, /class="show-code"/);
    const first = await viewedAt(pathname);
    assert.equal(first !== null, isOpened);
    selling.clock.advance(1_000);
    await browser.post(`${pathname}/card`);
    assert.equal(await viewedAt(pathname), first);
  }
});

test('a buyer withdraws in two steps, and the card stops with the second', async () => {
  const browser = visitor();
  const { pathname } = new URL(await ordered(forMyself), 'http://localhost');
  const opened = await browser.post(`${pathname}/card`);
  const [, code = ''] = /id="shown-code" dir="ltr">([^<]+)</.exec(opened.text) ?? assert.fail(opened.text);
  const asked = await browser.get(`${pathname}/withdraw`);
  const said = textOfPage(asked);
  for (const part of [texts.withdrawConfirm, '€50.00', texts.yourAddress, texts.withdrawAmount])
    assert.ok(said.includes(part), part);
  const usable = await browser.post(`/b/${buyDomain}`, { code });
  assert.equal(usable.status, 200);
  const done = await browser.post(`${pathname}/withdraw`, { email: ' Alan@Example.com ' });
  assert.equal(done.status, 303, done.text);
  const after = await browser.get(redirectOf(done));
  assert.match(textOfPage(after), /Your withdrawal was received on /);
  assert.match(textOfPage(after), /−€50\.00/);
  assert.equal((await browser.post(`/b/${buyDomain}`, { code })).status, 404);
  const again = await browser.get(`${pathname}/withdraw`);
  assert.doesNotMatch(again.text, new RegExp(`<button[^>]*>${texts.withdrawConfirm}`));
  assert.equal((await browser.post(`${pathname}/card`)).text.includes('show-code'), false);
});

test('a withdrawal needs the address of the order, which no page shows, and can be tried five times', async () => {
  await using service = await startSelling();
  const browser = openBrowser(service);
  const begin = async (): Promise<string> => {
    const page = await decide(browser, redirectOf(await order(browser, forMyself)));
    return new URL(page, 'http://localhost').pathname;
  };
  const pathname = await begin();
  for (const shown of [pathname, `${pathname}/withdraw`]) {
    const page = await browser.get(shown);
    assert.equal(page.status, 200);
    assert.doesNotMatch(page.text, /alan@example\.com/i, shown);
  }
  assert.match(textOfPage(await browser.get(pathname)), /a•••@example\.com/);
  const withdraw = async (email: string, of = pathname) =>
    await browser.post(`${of}/withdraw`, email === '' ? {} : { email });
  for (const email of ['', 'alan', 'eve@example.com', 'alan+1@example.com', 'grace@example.com']) {
    const wrong = await withdraw(email);
    assert.equal(wrong.status, 422, email);
    const said = textOfPage(wrong);
    assert.match(said, new RegExp(texts.withdrawWrong));
    assert.match(said, new RegExp(texts.withdrawConfirm));
    assert.doesNotMatch(wrong.text, /alan@example\.com/i);
  }
  assert.deepEqual(await service.query('select 1 as one from online_sale_refunds'), []);
  // The right address is limited as well: else a guess would be confirmed.
  const limited = await withdraw('alan@example.com');
  assert.equal(limited.status, 429);
  assert.match(textOfPage(limited), /Too many/);
  const other = await begin();
  assert.equal((await withdraw('alan@example.com', other)).status, 303);
  service.clock.advance(12 * 60_000);
  assert.equal((await withdraw('eve@example.com')).status, 422);
  assert.equal((await withdraw('alan@example.com')).status, 429);
  service.clock.advance(12 * 60_000);
  assert.equal((await withdraw('alan@example.com')).status, 303);
});

test('a scheduled card can be sent to another address and on another day, until it was sent', async () => {
  const browser = visitor();
  const day = (ahead: number): string =>
    new Date(selling.clock.now() + ahead * 86_400_000).toISOString().slice(0, 10);
  const { pathname } = new URL(await ordered({ ...giftForm, when: 'day', day: day(10) }), 'http://localhost');
  const shown = await browser.get(pathname);
  assert.match(textOfPage(shown), /The card arrives on /);
  assert.match(shown.text, new RegExp(`value="${day(10)}"`));
  const wrong = await browser.post(`${pathname}/change`, { email: 'grace', day: day(400) });
  assert.equal(wrong.status, 422);
  assert.match(textOfPage(wrong), new RegExp(texts.addressError));
  assert.match(textOfPage(wrong), /Choose a day from /);
  const changed = await browser.post(`${pathname}/change`, { email: 'hopper@example.com', day: day(20) });
  assert.equal(changed.status, 303, changed.text);
  const after = await browser.get(redirectOf(changed));
  assert.match(textOfPage(after), new RegExp(texts.changed));
  assert.match(after.text, new RegExp(`value="${day(20)}"`));
  assert.match(textOfPage(after), /hopper@example\.com/);
});

/** Orders a card, does something on the page of the provider, and returns the text of the page of the order. */
async function afterwards(...actions: readonly FormValues[]): Promise<string> {
  const browser = visitor();
  const session = redirectOf(await order(browser));
  let page = '';
  for (const action of actions) {
    const to = redirectOf(await browser.post(session, action));
    if (to.startsWith(path)) page = to;
  }
  return textOfPage(await browser.get(page));
}

test('every state of an order has its page', async () => {
  const pay = { action: 'pay', method: 'card' };
  const states: readonly (readonly [readonly FormValues[], readonly string[]])[] = [
    [[{ action: 'pay-later' }], [texts.waitingTitle, texts.confirmed]],
    [[{ action: 'decline' }], [texts.endedTitle, texts.another]],
    [[{ action: 'pay-later' }, { action: 'fail' }], [texts.endedTitle]],
    [
      [pay, { action: 'dispute' }],
      [texts.disputedTitle, texts.questioned, texts.decision, texts.stopped],
    ],
    [
      [pay, { action: 'dispute' }, { action: 'lose' }],
      [texts.lostTitle, texts.stopped],
    ],
    [
      [pay, { action: 'refund' }],
      [texts.stopped, '−€50.00'],
    ],
  ];
  for (const [actions, parts] of states) {
    const said = await afterwards(...actions);
    for (const part of parts) assert.ok(said.includes(part), `${JSON.stringify(actions)}: ${part}: ${said}`);
  }
});

test('an order that is not paid leads to its payment, and follows it', async () => {
  const browser = visitor();
  const key = keyIn((await browser.get(path)).text);
  const session = redirectOf(await browser.post(path, { ...giftForm, key }));
  await using database = await openDatabase(readConfig(selling.environment), {
    prepare: false,
    clock: wallClockOf(selling.clock),
  });
  const { ctx, storage } = database;
  const sale = await storage.read(function* find() {
    const record = yield* findStoreByDomain(buyDomain);
    return record && (yield* findSaleOfForm(record.store.id, key));
  });
  assert.ok(sale);
  const page = await browser.get(`${path}/order/${saleToken(ctx, sale)}`);
  const said = textOfPage(page);
  for (const part of [texts.openTitle, texts.continue, texts.ordered]) assert.ok(said.includes(part), part);
  assert.ok(
    page.text.includes(`href="${selling.url.replace('127.0.0.1', 'localhost')}${session}"`),
    page.text,
  );
  assert.match(page.text, /data-refresh="10"/);
  assert.match(page.text, /<noscript><meta http-equiv="refresh" content="10"><\/noscript>/);
});

test('an order that staff review says until when', async () => {
  await using service = await startSelling({ reviewsFirst: true });
  const browser = openBrowser(service);
  const begun = await order(browser);
  const said = textOfPage(await browser.get(await decide(browser, redirectOf(begun))));
  for (const part of [texts.reviewTitle, texts.checked, 'Without a decision by '])
    assert.ok(said.includes(part), `${part}: ${said}`);
});

test('a visitor who cancels the payment finds the form filled in', async () => {
  const back = await ordered({ ...giftForm, amount: 'own', own: '42.00' }, { action: 'cancel' });
  const form = await visitor().get(back);
  assert.equal(form.status, 200);
  assert.match(form.text, /value="Grace Hopper"/);
  assert.match(form.text, /value="grace@example\.com"/);
  assert.match(form.text, /Happy birthday, Grace!/);
});

test('a limit of a day is named, and the form is kept', async () => {
  await using service = await startSelling({ addressLimit: { minor: 6_000n, currency: currencyOf('EUR') } });
  const browser = openBrowser(service);
  const first = await order(browser);
  assert.equal(first.status, 303);
  await decide(browser, redirectOf(first));
  const second = await order(browser);
  assert.equal(second.status, 429);
  assert.match(textOfPage(second), new RegExp(texts.limitError));
  assert.match(second.text, /value="Grace Hopper"/);
});

test('without a response of the provider nothing was paid, and everything typed is kept', async () => {
  await using service = await startService({
    isSandbox: true,
    stores: [{ domain: buyDomain, currency: 'EUR' }],
    beforeStart: async (database) => await openSandboxPage(database),
  });
  const browser = openBrowser(service);
  // Without a public URL, the service can ask no provider.
  const { text } = await browser.get(path);
  const key = keyIn(text);
  const silent = await browser.post(path, { ...giftForm, key });
  assert.equal(silent.status, 503);
  const said = textOfPage(silent);
  assert.match(said, /You have not paid anything/);
  for (const part of ['Grace Hopper', 'grace@example.com', 'alan@example.com'])
    assert.ok(silent.text.includes(part), part);
  assert.equal(keyIn(silent.text), key);
});

/** The text of the newest kept email with a subject. */
async function emailWith(service: TestService, subject: string): Promise<string> {
  let found = '';
  await until(async () => {
    const list = await service.request('/dev/mails');
    const row = list.text.split('<tr').find((each) => each.includes(subject));
    const [, name] = /href="mails\/([^"]+)"/.exec(row ?? '') ?? [];
    if (name === undefined) return false;
    found = textOfPage(await service.request(`/dev/mails/${name}/html`));
    return true;
  });
  return found;
}

test('an order that is reviewed and then returned has emails with the link to its page', async () => {
  await using service = await startSelling({ reviewsFirst: true, reviewHours: 1 });
  const browser = openBrowser(service);
  const page = await decide(browser, redirectOf(await order(browser)));
  const reviewed = await emailWith(service, texts.reviewTitle);
  for (const part of ['Without a decision by ', texts.orderTitle, 'https://flowers.example/terms'])
    assert.ok(reviewed.includes(part), `${part}: ${reviewed}`);
  service.clock.advance(2 * 60 * 60_000);
  const returned = await emailWith(service, texts.returnedTitle);
  assert.ok(returned.includes('€50.00'), returned);
  assert.ok(textOfPage(await browser.get(page)).includes(texts.returnedTitle));
});

test('the receipt and the email with the card name the order, the tax, and the source of the address', async () => {
  await using service = await startSelling();
  const browser = openBrowser(service);
  const page = await decide(
    browser,
    redirectOf(await order(browser, { ...giftForm, amount: '10000' }, `${path}?lang=de`)),
  );
  const receipt = await emailWith(service, 'Beleg');
  for (const part of ['Bestellung ansehen', 'Visa •••• 4242', '20 %: 16,67 €', 'innerhalb von 14 Tagen'])
    assert.ok(receipt.includes(part), `${part}: ${receipt}`);
  const gift = await emailWith(service, 'Alan');
  assert.match(gift, /hat uns Ihre Adresse nur für diese Zustellung gegeben/);
  const { pathname } = new URL(page, 'http://localhost');
  const withdrawn = await browser.post(`${pathname}/withdraw`, { email: 'alan@example.com' });
  assert.equal(withdrawn.status, 303);
  const german = buyTextsOf('de');
  assert.match(await emailWith(service, german.refundingTitle), /Ihr Widerruf ist am /);
  assert.match(await emailWith(service, german.stoppedTitle), /erstattet/);
});

test('the receipt contains the terms of the store in full, below the order', async () => {
  const line = 'Gutscheine <b>nicht</b> & „bar“ auszahlbar. שובר\n';
  const termsText = `§ 1\n${line.repeat(800)}Ende der AGB`;
  await using service = await startSelling({ termsText });
  const browser = openBrowser(service);
  await decide(browser, redirectOf(await order(browser)));
  const receipt = await emailWith(service, 'receipt');
  const [above = '', below = ''] = receipt.split('§ 1');
  assert.match(above, /Order number .*Terms of gift cards $/);
  assert.equal(below.match(/Gutscheine <b>nicht<\/b> & „bar“ auszahlbar\. שובר/g)?.length, 800);
  assert.match(below, /Ende der AGB/);
  const [name] = /[^"/]+(?=">[^<]*receipt)/.exec((await service.request('/dev/mails')).text) ?? assert.fail();
  const { text } = await service.request(`/dev/mails/${name}/html`);
  assert.match(text, /Gutscheine &lt;b&gt;nicht&lt;\/b&gt; &amp; „bar“/);
});

/** The number that a browser finds for a form. */
function workFor(key: string): string {
  for (let number = 0; ; number += 1) if (isWorkDone(key, String(number))) return String(number);
}

test('a store that demands work accepts a form only with it, and owners change when it does', async () => {
  await using service = await startSelling({ work: 'on' });
  const browser = openBrowser(service);
  const { text } = await browser.get(path);
  assert.match(text, /name="work" value=""/);
  const key = keyIn(text);
  for (const work of ['', '1', 'x', '9'.repeat(50), workFor('A'.repeat(22))]) {
    const rejected = await browser.post(path, { ...giftForm, key, work });
    assert.equal(rejected.status, 429, work);
    assert.match(textOfPage(rejected), new RegExp(texts.limitError));
  }
  const accepted = await browser.post(path, { ...giftForm, key, work: workFor(key) });
  assert.equal(accepted.status, 303, accepted.text);
  assert.match(redirectOf(accepted), /^\/sandbox\/pay\//);

  const owner = await join(service, 'owner');
  const saved = await submitForm(owner, '/settings/online-sales', {
    fields: { min: '10', max: '250', review_hours: '24', delay_minutes: '0', work: 'off' },
  });
  assert.equal(saved.status, 303, textOfPage(saved));
  assert.doesNotMatch((await browser.get(path)).text, /name="work"/);
  assert.equal((await order(browser, { ...giftForm, buyer_email: 'eve@example.com' })).status, 303);
});

test('work is demanded by itself while there are many orders', async () => {
  await using service = await startSelling({ work: 'auto', networkLimit: null });
  const browser = openBrowser(service);
  for (let person = 0; person < 30; person += 1) {
    const begun = await order(browser, { ...giftForm, buyer_email: `buyer${person}@example.com` });
    assert.equal(begun.status, 303, begun.text);
  }
  const demanded = await order(browser, { ...giftForm, buyer_email: 'late@example.com' });
  assert.equal(demanded.status, 429);
  service.clock.advance(61_000);
  const later = await order(browser, { ...giftForm, buyer_email: 'late@example.com' });
  assert.equal(later.status, 303, textOfPage(later));
});

test('a visitor with too many requests gets a page in their own language, on all public pages', async () => {
  await using service = await startSelling(
    {},
    { limits: { visitorRequestsPerSecond: 0.01, visitorRequestsBurst: 1 } },
  );
  const browser = openBrowser(service);
  assert.equal((await browser.get(`${path}?lang=de`)).status, 200);
  const german = await browser.get(`${path}?lang=de`);
  assert.equal(german.status, 429);
  assert.match(german.text, /<html lang="de" dir="ltr">/);
  assert.match(textOfPage(german), /kamen zu viele Anfragen/);
  assert.ok(Number(german.headers.get('retry-after')) > 0);
  assert.equal(german.headers.get('cache-control'), 'no-store');
  assert.match(german.headers.get('content-security-policy') ?? '', framedAnywhere);
  const link = `${path}/order/1000000000000000_aaaaaaaaaaaaaaaaaaaaaa`;
  const headers = { 'accept-language': 'xx, he-IL;q=0.9, en;q=0.1' };
  for (const page of [
    path,
    '/buy',
    link,
    `${link}/withdraw`,
    '/b',
    `/b/${buyDomain}`,
    `/b/${buyDomain}/card`,
  ]) {
    const limited = await browser.request(page, { headers });
    assert.equal(limited.status, 429, page);
    assert.match(limited.text, /<html lang="he" dir="rtl">/, page);
    assert.match(textOfPage(limited), /יותר מדי בקשות/, page);
    assert.doesNotMatch(limited.text, /Largesse/, page);
  }
  for (const form of [`${path}?lang=fr`, `${link}/withdraw?lang=fr`, `/b/${buyDomain}?lang=fr`]) {
    const limited = await browser.post(form, { code: 'x' });
    assert.equal(limited.status, 429, form);
    assert.match(textOfPage(limited), /Trop de demandes/, form);
  }
  // The pages for staff keep their own.
  assert.match(textOfPage(await browser.get('/sign-in')), /Too many attempts/);
});

const framedAnywhere = /frame-ancestors 'self' https:$/;

test('an error is a page in the language of the visitor, which the website of a shop shows in its frame', async () => {
  await using service = await startSelling();
  const browser = openBrowser(service);
  const { missingTitle, brokenTitle } = textsOfVisitor('', 'he').texts;
  const foreign = { 'sec-fetch-site': 'cross-site', 'content-type': 'application/x-www-form-urlencoded' };
  const errors: readonly (readonly [string, Parameters<Browser['request']>[1], number, string])[] = [
    ['/buy/unknown.example', {}, 404, missingTitle],
    ['/buy/no%20host', {}, 404, missingTitle],
    [`${path}?order=%ZZ`, {}, 400, brokenTitle],
    [path, { method: 'POST', headers: foreign, body: 'key=x' }, 403, brokenTitle],
    [path, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' }, 415, brokenTitle],
    [path, { method: 'POST', body: 'x'.repeat(100_000) }, 413, brokenTitle],
  ];
  const check = async ([asked, options, status, title]: (typeof errors)[number]): Promise<void> => {
    const headers = { 'accept-language': 'he', 'sec-fetch-site': 'same-origin', ...options.headers };
    const shown = await browser.request(asked, { ...options, headers });
    assert.equal(shown.status, status, asked);
    assert.match(shown.text, /<html lang="he" dir="rtl">/, asked);
    assert.ok(textOfPage(shown).includes(title), textOfPage(shown));
    assert.doesNotMatch(shown.text, /<form|<a href="[^#]|Flowers/, asked);
    assert.match(shown.headers.get('content-security-policy') ?? '', framedAnywhere, asked);
  };
  for (const error of errors) await check(error);
  const config = readConfig(service.environment);
  await using database = await openDatabase(config, { prepare: false, clock: wallClockOf(service.clock) });
  await database.storage.write(() => closeStore(database.ctx, buyDomain));
  await check([path, {}, 503, brokenTitle]);
  const closed = await browser.get(`${path}/order/1000000000000000_aaaaaaaaaaaaaaaaaaaaaa`);
  assert.equal(closed.status, 503);
  assert.match(closed.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'$/);
});
