/** Staff suspend a card with a reason, and resume it: on its page, in the audit log, at the till and in the reports. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { formOf, openStaffedShop, sendForm, textOfPage, type StaffedShop } from '../support/counter-staff.ts';
import { findCard, redeem } from '../support/till.ts';

type Suspension = {
  readonly state: string;
  readonly available: string;
  readonly suspend_reason: string | null;
};

async function cardOf({ ask }: StaffedShop, id: number): Promise<Suspension> {
  const { json } = await ask(`GET /gift_cards/${id}`);
  return (json as { readonly gift_card: Suspension }).gift_card;
}

async function countOf({ service }: StaffedShop, action: string): Promise<number> {
  const rows = await service.query('select details from staff_actions where action = ?', action);
  for (const { details } of rows) assert.equal(details, '{}', 'the audit log has no reason');
  return rows.length;
}

async function hold({ ask }: StaffedShop, id: number, amount: string): Promise<void> {
  assert.equal((await ask(`POST /gift_card/${id}/holds`, { json: { amount } })).status, 201);
}

test('a card is suspended with a reason, and started again, once for each form', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  await hold(shop, id, '3.00');
  const [page, path] = [`/cards/${id}`, `/cards/${id}/suspend`];
  assert.match(textOfPage(await manager.get(page)), /Suspend… Stops the card until you start it again/);
  const form = await manager.get(path);
  assert.match(textOfPage(form), /until you start it again\. Its balance stays on it\. €3\.00 on hold stays/);
  const done = await sendForm(manager, path, { reason: 'Payment <b>questioned</b>\r\nsince Monday' });
  assert.deepEqual([done.status, done.headers.get('location')], [303, page], done.text);
  assert.deepEqual(await cardOf(shop, id).then((card) => [card.state, card.available, card.suspend_reason]), [
    'suspended',
    '0.00',
    'Payment <b>questioned</b>\nsince Monday',
  ]);
  const again = await manager.post(path, { ...done.form, reason: 'another' });
  assert.match(again.headers.get('location') ?? '', /again=1$/);
  const result = await manager.get(again.headers.get('location') ?? '');
  assert.match(textOfPage(result), /nothing was done a second time.*The card is suspended\./);
  assert.equal(await countOf(shop, 'card-suspended'), 1);

  const shown = await manager.get(page);
  const text = textOfPage(shown);
  assert.match(text, /is suspended since .* Reason: Payment <b>questioned<\/b> since Monday/);
  assert.match(text, /€0\.00 available, €3\.00 on hold/);
  assert.match(text, /Start again The same code works again at once/);
  for (const name of ['redeem', 'add', 'adjust', 'resend', 'suspend'])
    assert.ok(!shown.text.includes(`href="${page}/${name}"`), name);
  const audit = await (await shop.as('owner')).get('/audit');
  assert.match(textOfPage(audit), /Suspended a card/);

  const resumed = await sendForm(manager, `${page}/resume`);
  assert.deepEqual([resumed.status, resumed.headers.get('location')], [303, page], resumed.text);
  const twice = await manager.post(`${page}/resume`, resumed.form);
  assert.match(twice.headers.get('location') ?? '', /again=1$/);
  const after = await cardOf(shop, id);
  assert.deepEqual([after.state, after.available, after.suspend_reason], ['active', '47.00', null]);
  assert.equal(await countOf(shop, 'card-resumed'), 1);
  const history = await manager.get(page);
  assert.match(textOfPage(history), /Started again .* Suspended .*reason: Payment/);
  assert.doesNotMatch(history.text, /class="notice" role="note"/);
});

test('concurrent submissions of one form suspend once', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  const path = `/cards/${id}/suspend`;
  const form = { ...formOf(await manager.get(path), path), reason: 'lost' };
  const responses = await Promise.all(Array.from({ length: 5 }, () => manager.post(path, form)));
  for (const { status, text } of responses) assert.equal(status, 303, text);
  assert.equal(await countOf(shop, 'card-suspended'), 1);
});

test('the reason is optional; one that cannot be stored is rejected at its field, and kept', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  const path = `/cards/${id}/suspend`;
  for (const reason of ['x'.repeat(5_001), 'a\u0001b']) {
    const rejected = await sendForm(manager, path, { reason });
    assert.equal(rejected.status, 422);
    assert.match(rejected.text, /aria-describedby="reason-error" aria-invalid="true"/);
    assert.ok(rejected.text.includes(`>${reason}</textarea>`));
  }
  const bare = await manager.post(path, { reason: 'kept' });
  assert.equal(bare.status, 422, 'a form without a key');
  assert.match(bare.text, />kept<\/textarea>/);
  assert.equal(await countOf(shop, 'card-suspended'), 0);
  assert.equal((await sendForm(manager, path, { reason: '' })).status, 303);
  const { state, suspend_reason: reason } = await cardOf(shop, id);
  assert.deepEqual([state, reason], ['suspended', null]);
  assert.doesNotMatch(textOfPage(await manager.get(`/cards/${id}`)), /Reason:/);
});

test('the forms and the other changes say why they are not possible', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id } = await shop.issue();
  const page = `/cards/${id}`;
  const late = formOf(await manager.get(`${page}/suspend`), `${page}/suspend`);
  const adjusting = {
    ...formOf(await manager.get(`${page}/adjust`), `${page}/adjust`),
    balance: '9',
    reason: 'x',
  };
  const adding = { ...formOf(await manager.get(`${page}/add`), `${page}/add`), amount: '9' };
  assert.match(textOfPage(await manager.get(`${page}/resume`)), /not suspended/);
  const early = await manager.post(`${page}/resume`, { key: 'C'.repeat(22) });
  assert.equal(early.status, 422);
  assert.match(textOfPage(early), /not suspended/);
  await sendForm(manager, `${page}/suspend`, { reason: 'first' });
  const second = await manager.post(`${page}/suspend`, { ...late, reason: 'second' });
  assert.equal(second.status, 422);
  assert.match(textOfPage(second), /already suspended/);
  assert.equal((await cardOf(shop, id)).suspend_reason, 'first');
  for (const name of ['redeem', 'add', 'adjust']) {
    const shown = await manager.get(`${page}/${name}`);
    assert.match(textOfPage(shown), /This card is suspended\. Start it again first/, name);
  }
  for (const [name, form] of [
    ['adjust', adjusting],
    ['add', adding],
  ] as const) {
    const posted = await manager.post(`${page}/${name}`, form);
    assert.equal(posted.status, 422, name);
    assert.match(textOfPage(posted), /This card is suspended/, name);
  }
  assert.doesNotMatch((await manager.get(`${page}/disable`)).text, new RegExp(`href="${page}/resend"`));
  await shop.ask(`PUT /gift_card/${id}`, { json: { expires_on: '2020-01-31' } });
  assert.match(textOfPage(await manager.get(`${page}/resume`)), /The card has expired/);
  assert.equal((await sendForm(manager, `${page}/resume`)).status, 303);
  assert.match(textOfPage(await manager.get(`${page}/suspend`)), /expired on Jan 31, 2020/);
  assert.ok(!(await manager.get(page)).text.includes(`href="${page}/suspend"`));

  const { id: ended } = await shop.issue();
  await sendForm(manager, `/cards/${ended}/suspend`);
  await shop.ask(`PUT /gift_card/${ended}`, { json: { disable: true } });
  const disabled = await manager.get(`/cards/${ended}`);
  assert.doesNotMatch(disabled.text, new RegExp(`href="/cards/${ended}/(?:suspend|resume)"`));
  for (const name of ['suspend', 'resume'])
    assert.match(textOfPage(await manager.get(`/cards/${ended}/${name}`)), /This card is disabled/, name);
});

test('a suspended card gets a new code to print, and stays suspended', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const { id, code } = await shop.issue({ recipient_email: 'grace@example.com' });
  const page = `/cards/${id}`;
  await sendForm(manager, `${page}/suspend`, { reason: 'Code seen by others' });
  const shown = await manager.get(page);
  assert.ok(shown.text.includes(`href="${page}/print"`));
  const form = await manager.get(`${page}/resend?how=print`);
  assert.match(textOfPage(form), /The card stays suspended: the new code works once it is started again/);
  assert.doesNotMatch(form.text, /value="email"/);
  const rejected = await manager.post(`${page}/resend`, {
    ...formOf(form, `${page}/resend`),
    how: 'email',
    address: 'grace@example.com',
  });
  assert.equal(rejected.status, 422);
  const { headers } = await sendForm(manager, `${page}/resend`, { how: 'print' });
  const result = await manager.get(headers.get('location') ?? '');
  assert.equal(result.status, 200);
  const { state, suspend_reason: reason } = await cardOf(shop, id);
  assert.deepEqual([state, reason], ['suspended', 'Code seen by others']);
  const old = await shop.ask('POST /gift_card/lookup', { json: { code } });
  assert.equal(old.status, 404);
});

test('only roles that change cards suspend and resume them', async () => {
  await using shop = await openStaffedShop();
  const [manager, accountant, cashier] = [
    await shop.as('manager'),
    await shop.as('accountant'),
    await shop.as('cashier'),
  ];
  const { id } = await shop.issue();
  const { form } = await sendForm(manager, `/cards/${id}/suspend`);
  const page = await accountant.get(`/cards/${id}`);
  assert.equal(page.status, 200);
  assert.match(textOfPage(page), /is suspended since/);
  for (const browser of [accountant, cashier])
    for (const name of ['suspend', 'resume']) {
      assert.ok(!page.text.includes(`href="/cards/${id}/${name}"`));
      assert.equal((await browser.get(`/cards/${id}/${name}`)).status, 403, name);
      assert.equal((await browser.post(`/cards/${id}/${name}`, form)).status, 403, name);
    }
  assert.equal((await cardOf(shop, id)).state, 'suspended');
  for (const unknown of ['1', 'x', '5966927867000173'])
    for (const name of ['suspend', 'resume'])
      assert.equal((await manager.get(`/cards/${unknown}/${name}`)).status, 404, unknown);
});

test('the till rejects a card while it is suspended, also one that it had found before', async () => {
  await using shop = await openStaffedShop();
  const [manager, cashier] = [await shop.as('manager'), await shop.as('cashier')];
  const { id, code } = await shop.issue();
  const before = await findCard(cashier, code);
  await sendForm(manager, `/cards/${id}/suspend`, { reason: 'stolen phone' });
  const { page } = await findCard(cashier, code);
  assert.match(textOfPage(page), /Suspended since .* reason: stolen phone/);
  assert.doesNotMatch(page.text, /id="amount"/);
  const refunds = await manager.get(`/till/refund/card/${id}`);
  assert.match(textOfPage(refunds), /Suspended Available €0\.00/);
  const rejected = await redeem(cashier, before, { amount: '5' });
  assert.equal(rejected.status, 422);
  assert.match(textOfPage(rejected), /Suspended since/);
  await sendForm(manager, `/cards/${id}/resume`);
  const redeemed = await redeem(cashier, await findCard(cashier, code), { amount: '5' });
  assert.equal(redeemed.status, 303, redeemed.text);
  assert.equal((await cardOf(shop, id)).available, '45.00');
});

test('the liability says how much of it is on suspended cards', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const [{ id }, { id: other }] = [await shop.issue(), await shop.issue()];
  const liability = async (): Promise<string> => textOfPage(await manager.get('/books/liability'));
  assert.doesNotMatch(await liability(), /suspended/);
  await sendForm(manager, `/cards/${id}/suspend`);
  shop.service.clock.advance(1_000);
  assert.match(await liability(), /€50\.00 of what is available or on hold is on 1 suspended card\./);
  await sendForm(manager, `/cards/${other}/suspend`);
  shop.service.clock.advance(1_000);
  assert.match(await liability(), /€100\.00 of what is available or on hold is on 2 suspended cards\./);
});

test('the forms render in four languages', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const [{ id }, { id: stopped }] = [await shop.issue(), await shop.issue()];
  await hold(shop, id, '3.00');
  await sendForm(manager, `/cards/${stopped}/suspend`, { reason: 'lost' });
  const words = { en: 'Cancel', de: 'Abbrechen', fr: 'Annuler', es: 'Cancelar' };
  for (const [language, word] of Object.entries(words))
    for (const path of [`/cards/${id}/suspend`, `/cards/${stopped}/resume`, `/cards/${stopped}`]) {
      const page = await manager.request(path, { headers: { 'accept-language': language } });
      assert.equal(page.status, 200, path);
      assert.match(page.text, new RegExp(`<html lang="${language}\\b`), path);
      assert.doesNotMatch(textOfPage(page), /\{[a-z]+\}/, `${path} in ${language}`);
      if (path !== `/cards/${stopped}`) assert.ok(page.text.includes(word), `${path} in ${language}`);
    }
});
