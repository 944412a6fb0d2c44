/** “Add money” on the page of a card: a top-up within the limits of the store and the person, with a receipt. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { addDays } from '../../src/core/domain/day.ts';
import { formOf, openStaffedShop, sendForm, textOfPage } from '../support/counter-staff.ts';

type Entry = Readonly<Record<'kind' | 'amount' | 'actor', string>> & { readonly note: string | null };

test('money is added once, with a later expiry, a receipt and an entry in the audit log', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const today = new Date(shop.service.clock.now()).toISOString().slice(0, 10);
  const [first, later] = [addDays(today, 30), addDays(today, 400)];
  const { id } = await shop.issue({ expires_on: first });
  assert.match((await manager.get(`/cards/${id}`)).text, /Add money/);
  const path = `/cards/${id}/add`;
  const done = await sendForm(manager, path, { amount: '12,50', expires_on: later, note: 'cash' });
  assert.equal(done.status, 303, done.text);
  const location = done.headers.get('location') ?? '';
  const shown = await manager.get(location);
  assert.match(textOfPage(shown), /€12\.50 added\. €62\.50 is left on the card\./);
  const [, receipt = ''] = /href="(\/till\/receipts\/\d+)"/.exec(shown.text) ?? [];
  assert.match(
    textOfPage(await manager.get(receipt)),
    /Added to a gift card €12\.50/,
  );
  const again = await manager.post(path, { ...done.form, amount: '20' });
  assert.match(
    textOfPage(await manager.get(again.headers.get('location') ?? '')),
    /nothing was done a second time/,
  );
  const { json } = await shop.ask(`GET /gift_card/${id}/transactions`);
  const entries = (json as { readonly transactions: readonly Entry[] }).transactions;
  assert.deepEqual(
    entries.map(({ kind, amount, note }) => [kind, amount, note]),
    [
      ['top_up', '12.50', 'cash'],
      ['issue', '50.00', null],
    ],
  );
  assert.match(entries[0]?.actor ?? '', /^staff:/);
  const card = await shop.ask(`GET /gift_card/${id}`);
  assert.equal((card.json as { readonly gift_card: { readonly expires_on: string } }).gift_card.expires_on, later);
  const [action] = await shop.service.query(
    "select details from staff_actions where action = 'card-credited'",
  );
  assert.equal((JSON.parse(String(action?.['details'])) as { readonly amount: string }).amount, '12.50');
  const timeline = textOfPage(await manager.get(`/cards/${id}`));
  assert.match(timeline, /Topped up/);
}); // prettier-ignore

test('what cannot be added is rejected at its field, and keeps what was typed', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const today = new Date(shop.service.clock.now()).toISOString().slice(0, 10);
  const { id } = await shop.issue({ expires_on: addDays(today, 30) });
  const path = `/cards/${id}/add`;
  const send = (values: Readonly<Record<string, string>>) => sendForm(manager, path, values);
  for (const [values, message] of [
    [{ amount: '' }, /Enter an amount\./],
    [{ amount: '0' }, /Enter an amount greater than 0/],
    [{ amount: '5', expires_on: addDays(today, 29) }, /Choose a day that is not before/],
    [{ amount: '5', expires_on: 'soon' }, /Enter a day\./],
    [{ amount: '999999999999' }, /The balance of a card cannot be that high\./],
  ] as const) {
    const response = await send(values);
    assert.equal(response.status, 422, JSON.stringify(values));
    assert.match(textOfPage(response), message);
    assert.equal(formOf(response, path)['amount'], values.amount);
  }
  const [row] = await shop.service.query("select id from staff where role = 'manager'");
  const owner = await shop.as('owner');
  const limits = { name: 'manager', role: 'manager', sale_limit: '10.00' };
  assert.equal((await owner.post(`/staff/${Number(row?.['id'])}`, limits)).status, 303);
  const limited = await send({ amount: '10,01' });
  assert.match(textOfPage(limited), /Your limit for one sale is €10\.00\./);
  assert.equal((await send({ amount: '10' })).status, 303);
  const entries = await shop.service.query("select id from transfers where kind = 'top_up'");
  assert.equal(entries.length, 1);
});

test('an expired or disabled card and one that never expires say what is possible', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const today = new Date(shop.service.clock.now()).toISOString().slice(0, 10);
  const endless = await shop.issue({});
  assert.ok(
    !('expires_on' in formOf(await manager.get(`/cards/${endless.id}/add`), `/cards/${endless.id}/add`)),
  );
  const expired = await shop.issue({ expires_on: today });
  await shop.ask(`PUT /gift_card/${expired.id}`, { json: { expires_on: addDays(today, -1) } });
  assert.match(textOfPage(await manager.get(`/cards/${expired.id}/add`)), /This card expired on/);
  const disabled = await shop.issue({});
  const open = await manager.get(`/cards/${disabled.id}/add`);
  await shop.ask(`PUT /gift_card/${disabled.id}`, { json: { disable: true } });
  const late = await manager.post(`/cards/${disabled.id}/add`, {
    ...formOf(open, `/cards/${disabled.id}/add`),
    amount: '5',
  });
  assert.equal(late.status, 422);
  assert.match(textOfPage(late), /This card is disabled/);
  for (const { id } of [expired, disabled])
    assert.doesNotMatch((await manager.get(`/cards/${id}`)).text, /\/add"/);
  const cashier = await shop.as('cashier');
  assert.equal((await cashier.get(`/cards/${endless.id}/add`)).status, 403);
});
