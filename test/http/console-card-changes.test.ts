/** The changes of a card on the pages: each is made once, by a person who may make it, if the card allows it. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Browser } from '../support/browser.ts';
import { formOf, openStaffedShop, sendForm, textOfPage, type StaffedShop } from '../support/counter-staff.ts';

type Entry = {
  readonly id: number;
  readonly kind: string;
  readonly amount: string;
  readonly actor: string;
  readonly reference: string | null;
  readonly note: string | null;
};

async function entriesOf({ ask }: StaffedShop, id: number): Promise<readonly Entry[]> {
  const { json } = await ask(`GET /gift_card/${id}/transactions`);
  return (json as { readonly transactions: readonly Entry[] }).transactions;
}

async function cardOf({ ask }: StaffedShop, id: number): Promise<Readonly<Record<string, unknown>>> {
  const { json } = await ask(`GET /gift_card/${id}`);
  return (json as { readonly gift_card: Readonly<Record<string, unknown>> }).gift_card;
}

async function staffIdOf({ service }: StaffedShop, role: string): Promise<number> {
  const [row] = await service.query('select id from staff where role = ?', role);
  return Number(row?.['id']);
}

async function actionsOf({ service }: StaffedShop, name: string): Promise<readonly unknown[]> {
  return await service.query(
    'select staff_id, subject_id, details from staff_actions where action = ?',
    name,
  );
}

function locationOf({ headers }: { readonly headers: Headers }): string {
  return headers.get('location') ?? '';
}

async function hold({ ask }: StaffedShop, id: number, amount = '3.00'): Promise<number> {
  const { json, text } = await ask(`POST /gift_card/${id}/holds`, {
    json: { amount, reference: 'checkout 77' },
  });
  return (json as { readonly hold?: { readonly id: number } }).hold?.id ?? assert.fail(text);
}

test('a redemption is in the ledger and the audit log, once, however often the form is sent', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  const path = `/cards/${id}/redeem`;
  const done = await sendForm(manager, path, {
    amount: '12,50',
    reference: 'receipt 1017',
    note: 'lilies',
  });
  assert.equal(done.status, 303, done.text);
  const actor = `staff:${await staffIdOf(shop, 'manager')}`;
  const [entry] = await entriesOf(shop, id);
  assert.deepEqual(
    [entry?.kind, entry?.amount, entry?.actor, entry?.reference, entry?.note],
    ['debit', '-12.50', actor, 'receipt 1017', 'lilies'],
  );
  const shown = await manager.get(locationOf(done));
  assert.match(textOfPage(shown), /€12\.50 redeemed\. €37\.50 is left on the card\./);
  assert.match(shown.text, /role="status"/);
  // A double click, and Back with another amount.
  for (const amount of ['12,50', '20', 'nonsense']) {
    const again = await manager.post(path, { ...done.form, amount });
    assert.equal(again.status, 303, amount);
    const page = await manager.get(locationOf(again));
    assert.match(textOfPage(page), /sent before, so nothing was done a second time.*€12\.50 redeemed/);
  }
  assert.equal((await entriesOf(shop, id)).length, 2);
  assert.equal((await actionsOf(shop, 'card-redeemed')).length, 1);
  const other = await (await shop.as('owner')).get(locationOf(done));
  assert.equal(other.status, 404, 'the result of another person is not shown');
});

test('concurrent submissions of one form redeem once', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  const path = `/cards/${id}/redeem`;
  const form = { ...formOf(await manager.get(path), path), amount: '10' };
  const responses = await Promise.all(Array.from({ length: 5 }, () => manager.post(path, form)));
  assert.deepEqual(
    responses.map(({ status }) => status),
    [303, 303, 303, 303, 303],
  );
  assert.equal((await cardOf(shop, id))['balance'], '40.00');
});

test('the button for all redeems the amount that the page showed, and no other', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  await hold(shop, id);
  const path = `/cards/${id}/redeem`;
  const page = await manager.get(path);
  assert.match(textOfPage(page), /€3\.00 more is on hold/);
  const [, all = ''] = /name="all" value="([^"]+)"/.exec(page.text) ?? [];
  assert.equal(all, '47.00');
  const form = { ...formOf(page, path), all };
  assert.equal((await shop.ask(`POST /gift_card/${id}/debit`, { json: { amount: '7.00' } })).status, 201);
  const rejected = await manager.post(path, form);
  assert.equal(rejected.status, 422);
  assert.match(textOfPage(rejected), /Only €40\.00 is available/);
  assert.match(rejected.text, /aria-invalid="true"/);
  assert.match(rejected.text, /aria-describedby="amount-error"/);
  const second = await manager.post(path, { ...form, all: '40.00' });
  assert.equal(second.status, 303);
  assert.equal((await cardOf(shop, id))['balance'], '3.00');
});

test('an amount that cannot be redeemed is rejected at its field, and keeps what was typed', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  for (const amount of ['', '0', '-1', '1.234', 'abc', '50.01', '9'.repeat(60)]) {
    const { status, text } = await sendForm(manager, `/cards/${id}/redeem`, { amount, reference: '<b>&"' });
    assert.equal(status, 422, amount);
    assert.match(text, /<p class="error" id="amount-error">/, amount);
    assert.match(text, /value="&lt;b&gt;&amp;&quot;"/, amount);
  }
  const long = await sendForm(manager, `/cards/${id}/redeem`, { amount: '1', reference: 'x'.repeat(256) });
  assert.match(long.text, /id="reference-error"/);
  const bare = await manager.post(`/cards/${id}/redeem`, { amount: '1' });
  assert.equal(bare.status, 422, 'a form without a key');
  assert.equal((await entriesOf(shop, id)).length, 1);
});

test('an entry is refunded in part and then in full, and no further', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  const debit = await shop.ask(`POST /gift_card/${id}/debit`, {
    json: { amount: '20.00', reference: 'r 7' },
  });
  const { id: entry } = (debit.json as { readonly transaction: { readonly id: number } }).transaction;
  const path = `/cards/${id}/entries/${entry}/refund`;
  assert.equal(formOf(await manager.get(path), path)['amount'], '20.00');
  const part = await sendForm(manager, path, { amount: '5', note: 'wilted' });
  assert.equal(part.status, 303);
  assert.match(textOfPage(await manager.get(locationOf(part))), /€5\.00 refunded\. €35\.00 is left/);
  const much = await sendForm(manager, path, { amount: '15.01' });
  assert.equal(much.status, 422);
  assert.match(textOfPage(much), /Only €15\.00 can still be refunded/);
  assert.equal((await manager.post(path, part.form)).status, 303, 'sent again');
  assert.equal((await sendForm(manager, path)).status, 303, 'the rest is the default');
  assert.match(textOfPage(await manager.get(path)), /already been refunded in full/);
  const late = await manager.post(path, { key: 'A'.repeat(22), amount: '1' });
  assert.equal(late.status, 422);
  assert.match(textOfPage(late), /already been refunded in full/);
  const entries = await entriesOf(shop, id);
  assert.deepEqual(
    entries.map(({ kind, amount, note }) => [kind, amount, note]),
    [
      ['reversal', '15.00', null],
      ['reversal', '5.00', 'wilted'],
      ['debit', '-20.00', null],
      ['issue', '50.00', null],
    ],
  );
  assert.equal(entries[0]?.actor, `staff:${await staffIdOf(shop, 'manager')}`);
  assert.equal((await actionsOf(shop, 'card-refunded')).length, 2);
  const sale = `/cards/${id}/entries/${entries[3]?.id ?? 0}/refund`;
  assert.match(textOfPage(await manager.get(sale)), /cannot be refunded/);
  const other = await shop.issue();
  assert.equal((await manager.get(`/cards/${other.id}/entries/${entry}/refund`)).status, 404);
});

test('a hold is released once, and a hold that has ended says so', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  const path = `/cards/${id}/holds/${await hold(shop, id)}/release`;
  assert.match(textOfPage(await manager.get(path)), /€ 3\.00 on hold for .*checkout 77/);
  const released = await sendForm(manager, path);
  assert.equal(locationOf(released), `/cards/${id}`);
  assert.match(locationOf(await manager.post(path, released.form)), /\/done\/.*\?again=1$/);
  assert.match(textOfPage(await manager.get(path)), /already ended/);
  const late = await manager.post(path, { key: 'A'.repeat(22) });
  assert.equal(late.status, 422);
  assert.match(textOfPage(late), /already ended/);
  assert.equal((await actionsOf(shop, 'hold-released')).length, 1);
  const expiring = await hold(shop, id);
  shop.service.clock.advance(16 * 60_000);
  assert.match(textOfPage(await manager.get(`/cards/${id}/holds/${expiring}/release`)), /has expired/);
  assert.equal((await manager.get(`/cards/${id}/holds/${id}/release`)).status, 404);
});

test('an adjustment needs a reason, shows the difference, and is rejected if the card has changed', async () => {
  await using shop = await openStaffedShop({ store: { issueLimit: null } });
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  const path = `/cards/${id}/adjust`;
  const without = await sendForm(manager, path, { balance: '45' });
  assert.equal(without.status, 422);
  assert.match(without.text, /id="reason-error"/);
  const same = await sendForm(manager, path, { balance: '50', reason: 'none' });
  assert.match(textOfPage(same), /This is the balance already/);
  const review = await sendForm(manager, path, { balance: '45,5', reason: 'wrong price' });
  assert.equal(review.status, 200, review.text);
  assert.match(textOfPage(review), /€ 45\.50 new balance instead of €50\.00: −€4\.50/);
  assert.equal((await entriesOf(shop, id)).length, 1, 'nothing has changed yet');
  assert.equal((await shop.ask(`POST /gift_card/${id}/debit`, { json: { amount: '1.00' } })).status, 201);
  const conflict = await manager.post(path, formOf(review, path));
  assert.equal(conflict.status, 409);
  assert.match(textOfPage(conflict), /balance has changed.*instead of €49\.00: −€3\.50/);
  const done = await manager.post(path, formOf(conflict, path));
  assert.equal(locationOf(done), `/cards/${id}`);
  const again = await manager.post(path, formOf(conflict, path));
  assert.match(textOfPage(await manager.get(locationOf(again))), /The balance was set to €45\.50/);
  const [entry] = await entriesOf(shop, id);
  assert.deepEqual(
    [entry?.kind, entry?.amount, entry?.note, entry?.actor],
    ['adjustment', '-3.50', 'wrong price', `staff:${await staffIdOf(shop, 'manager')}`],
  );
  const [action] = await actionsOf(shop, 'card-changed');
  assert.match(JSON.stringify(action), /49\.00.*45\.50/);
});

test('an adjustment stays within the limits of the store, the holds and the person', async () => {
  await using shop = await openStaffedShop();
  const [owner, manager] = [await shop.as('owner'), await shop.as('manager')];
  const { id } = await shop.issue();
  const path = `/cards/${id}/adjust`;
  await hold(shop, id, '10.00');
  const adjust = async (balance: string) => {
    const review = await sendForm(manager, path, { balance, reason: 'a reason' });
    return await manager.post(path, formOf(review, path));
  };
  assert.match(textOfPage(await adjust('9.99')), /must be at least €10\.00, which is on hold/);
  const limit = { name: 'manager', role: 'manager', sale_limit: '5.00' };
  assert.equal((await owner.post(`/staff/${await staffIdOf(shop, 'manager')}`, limit)).status, 303);
  assert.match(textOfPage(await adjust('55.01')), /Your limit for one sale is €5\.00/);
  assert.equal((await adjust('55.00')).status, 303);
  assert.equal((await adjust('10.00')).status, 303, 'a lower balance is not a sale');
});

test('an edit changes only what was changed, and shows what changed at the same time', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue({ note: 'first', tags: ['VIP', 'spring'], recipient_name: 'Grace' });
  const path = `/cards/${id}/edit`;
  const open = await manager.get(path);
  const form = formOf(open, path);
  assert.deepEqual(
    [form['note'], form['tags'], form['recipient_name'], form['expires_on']],
    ['first', 'VIP, spring', 'Grace', ''],
  );
  const saved = await manager.post(path, { ...form, note: 'line 1\r\nline 2', expires_on: '2031-12-31' });
  assert.equal(locationOf(saved), `/cards/${id}`, saved.text);
  const card = await cardOf(shop, id);
  assert.deepEqual([card['note'], card['expires_on']], ['line 1\nline 2', '2031-12-31']);
  const [action] = await actionsOf(shop, 'card-changed');
  assert.match(JSON.stringify(action), /expires_on, note/);
  const stale = await manager.post(path, { ...form, key: 'B'.repeat(22), tags: 'new' });
  assert.equal(stale.status, 409);
  assert.match(textOfPage(stale), /has changed since you opened.*Now: Dec 31, 2031.*Now: VIP, spring/);
  assert.match(stale.text, /role="alert"/);
  const merged = await manager.post(path, { ...formOf(stale, path), expires_on: '2031-12-31' });
  assert.equal(merged.status, 303);
  assert.equal((await cardOf(shop, id))['expires_on'], '2031-12-31');
  for (const [name, value] of [
    ['expires_on', '2031-02-30'],
    ['note', 'x'.repeat(5_001)],
    ['tags', Array.from({ length: 21 }, (_, index) => `t${index}`).join(',')],
    ['recipient_name', 'two\nlines'],
  ] as const) {
    const rejected = await sendForm(manager, path, { [name]: value });
    assert.equal(rejected.status, 422, name);
    assert.match(rejected.text, new RegExp(`id="${name}-error"`), name);
  }
});

test('a disabled card says what is possible, and can be enabled again within the time for that', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  await hold(shop, id);
  const path = `/cards/${id}/disable`;
  assert.match(textOfPage(await manager.get(path)), /enable it again within 60 minutes.*€3\.00 is on hold/);
  const held = await sendForm(manager, path);
  assert.equal(held.status, 422);
  assert.match(held.text, /id="holds-error"/);
  const disabled = await sendForm(manager, path, { release_holds: '1' });
  assert.equal(locationOf(disabled), `/cards/${id}`, disabled.text);
  assert.notEqual((await cardOf(shop, id))['disabled_at'], null);
  assert.match(locationOf(await manager.post(path, disabled.form)), /again=1$/);
  for (const name of ['redeem', 'adjust', 'resend', 'disable']) {
    const page = await manager.get(`/cards/${id}/${name}`);
    assert.equal(page.status, 200, name);
    assert.match(textOfPage(page), /disabled/, name);
    const form = { key: 'C'.repeat(22), amount: '1', balance: '1', reason: 'x', version: '3', how: 'print' };
    const posted = await manager.post(`/cards/${id}/${name}`, form);
    assert.ok([409, 422].includes(posted.status), `${name}: ${posted.status}`);
    assert.match(textOfPage(posted), /disabled|has changed/, name);
  }
  assert.doesNotMatch((await manager.get(`/cards/${id}/edit`)).text, /name="expires_on"/);
  const enable = await sendForm(manager, `/cards/${id}/enable`);
  assert.equal(locationOf(enable), `/cards/${id}`);
  assert.equal((await cardOf(shop, id))['disabled_at'], null);
  assert.match(textOfPage(await manager.get(`/cards/${id}/enable`)), /not disabled/);
  assert.equal((await sendForm(manager, path)).status, 303);
  const late = formOf(await manager.get(`/cards/${id}/enable`), `/cards/${id}/enable`);
  shop.service.clock.advance(61 * 60_000);
  const over = await manager.post(`/cards/${id}/enable`, late);
  assert.equal(over.status, 422);
  assert.match(textOfPage(over), /The time in which this card could be enabled again is over/);
  for (const name of ['card-disabled', 'card-reenabled'])
    assert.ok((await actionsOf(shop, name)).length > 0, name);
});

test('an expired card says when it expired and what to do', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  await sendForm(manager, `/cards/${id}/edit`, { expires_on: '2020-01-31' });
  for (const name of ['redeem', 'resend'])
    assert.match(textOfPage(await manager.get(`/cards/${id}/${name}`)), /expired on Jan 31, 2020/, name);
  const posted = await manager.post(`/cards/${id}/redeem`, { key: 'D'.repeat(22), amount: '1' });
  assert.equal(posted.status, 422);
  assert.match(textOfPage(posted), /expired on Jan 31, 2020/);
});

test('a person’s limits and role count when the form is sent, not when it was opened', async () => {
  await using shop = await openStaffedShop();
  const [owner, manager] = [await shop.as('owner'), await shop.as('manager')];
  const { id } = await shop.issue();
  const debit = await shop.ask(`POST /gift_card/${id}/debit`, { json: { amount: '20.00' } });
  const { id: entry } = (debit.json as { readonly transaction: { readonly id: number } }).transaction;
  const path = `/cards/${id}/entries/${entry}/refund`;
  const form = formOf(await manager.get(path), path);
  const member = `/staff/${await staffIdOf(shop, 'manager')}`;
  const set = (fields: Readonly<Record<string, string>>) =>
    owner.post(member, { name: 'manager', role: 'manager', ...fields });
  assert.equal((await set({ refund_limit: '19.99' })).status, 303);
  const limited = await manager.post(path, form);
  assert.equal(limited.status, 422);
  assert.match(textOfPage(limited), /You can refund at most €19\.99 now: your limit for one redemption/);
  assert.equal((await manager.post(path, { ...form, amount: '10.00' })).status, 303);
  const rest = { ...formOf(await manager.get(path), path), amount: '10.00' };
  const second = await manager.post(path, rest);
  assert.equal(second.status, 422);
  assert.match(textOfPage(second), /You can refund at most €9\.99 now: .* is €19\.99/);
  assert.equal((await set({ refund_limit: '', role: 'accountant' })).status, 303);
  assert.equal((await manager.post(path, rest)).status, 403);
  assert.equal((await set({ refund_limit: '' })).status, 303);
  assert.equal((await owner.post(`${member}/disable`)).status, 303);
  assert.match(locationOf(await manager.post(path, rest)), /^\/sign-in/);
  assert.equal((await entriesOf(shop, id)).length, 3, 'nothing more was refunded');
  assert.equal((await owner.post(`${member}/enable`)).status, 303);
});

test('cards of another store and unknown cards are not found', async () => {
  await using shop = await openStaffedShop();
  const owner = await shop.as('owner');
  const { id } = await shop.issue();
  const internal = shop.service.internalId(id);
  for (const unknown of [String(internal), '1', 'x', '5966927867000173'])
    for (const name of ['redeem', 'adjust', 'edit', 'resend', 'disable', 'enable', 'print'])
      assert.equal((await owner.get(`/cards/${unknown}/${name}`)).status, 404, `${unknown} ${name}`);
});

type CardInJson = {
  readonly gift_card: { readonly balance: string; readonly held: string; readonly last_characters: string };
};

test('the page of a card says what each action does, and disabling leads to a replacement', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  // The card has no recipient, so the form shows the new code.
  const { id } = await shop.issue({ initial_value: '50.00' });
  await hold(shop, id);
  const path = `/cards/${id}`;
  const page = textOfPage(await manager.get(path));
  for (const effect of [
    'Replace the card New code, same balance; the old code stops',
    'Print Makes a new code: codes are not stored',
    'Disable… Can no longer be redeemed; can be undone for 60 minutes',
  ])
    assert.ok(page.includes(effect), `${effect}\n${page}`);
  const disabling = await manager.get(`${path}/disable`);
  assert.match(textOfPage(disabling), /lost or stolen\? Replace the card : its balance moves to a new code/);
  assert.match(disabling.text, new RegExp(`href="${path}/resend"`));
  const replacing = await manager.get(`${path}/resend`);
  assert.match(
    textOfPage(replacing),
    /€50\.00 moves to a new code\. The old code stops at once\. €\d+\.\d\d on hold stays on hold/,
  );
  assert.match(replacing.text, /value="print" checked/);
  const read = async () => (await shop.ask(`GET /gift_cards/${id}`)).json as CardInJson;
  const { gift_card: before } = await read();
  const replaced = await sendForm(manager, `${path}/resend`, { how: 'print' });
  assert.match(locationOf(replaced), /^\/cards\/issued\//);
  const { gift_card: after } = await read();
  assert.deepEqual([after.balance, after.held], [before.balance, before.held]);
  assert.notEqual(after.last_characters, before.last_characters);
});

test('every form renders in four languages', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  const debit = await shop.ask(`POST /gift_card/${id}/debit`, { json: { amount: '20.00' } });
  const { id: entry } = (debit.json as { readonly transaction: { readonly id: number } }).transaction;
  const holdId = await hold(shop, id);
  const pages = [
    'redeem',
    'add',
    'adjust',
    'edit',
    'resend',
    'disable',
    `entries/${entry}/refund`,
    `holds/${holdId}/release`,
  ];
  const words = { en: 'Cancel', de: 'Abbrechen', fr: 'Annuler', es: 'Cancelar' };
  for (const [language, word] of Object.entries(words)) {
    for (const name of pages) {
      const page: Awaited<ReturnType<Browser['get']>> = await manager.request(`/cards/${id}/${name}`, {
        headers: { 'accept-language': language },
      });
      assert.equal(page.status, 200, name);
      assert.match(page.text, new RegExp(`<html lang="${language}\\b`), name);
      assert.ok(page.text.includes(word), `${name} in ${language}`);
      assert.doesNotMatch(textOfPage(page), /\{[a-z]+\}/, `${name} in ${language}`);
    }
  }
});
