/** Customers and their storefront ids, which are unique in a store. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { problemOf } from '../support/responses.ts';
import { startService, type TestResponse } from '../support/service.ts';
import { shopOf, unchanged } from '../support/shop.ts';

const service = await startService({ stores: [{ domain: 'flowers.example' }, { domain: 'books.example' }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const books = await shopOf(service, 'books.example');

let people = 0;
/** Returns an unused email and storefront id. */
function newPerson(): { readonly email: string; readonly storefront_customer_id: number } {
  people += 1;
  return { email: `person-${people}@example.com`, storefront_customer_id: 5_000 + people };
}

type Customer = Readonly<Record<'id' | 'email' | 'storefront_customer_id' | 'created_at', unknown>>;

function customerOf(response: TestResponse): Customer {
  assert.equal(response.status, 200, response.text);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  const { customer } = response.json as { readonly customer: Customer };
  assert.deepEqual(Object.keys(customer), ['id', 'email', 'storefront_customer_id', 'created_at']);
  return customer;
}

const read = async (id: number | null) => customerOf(await shop.ask(`GET /customers/${id}`));
const put = (id: number | null, json: object, headers = {}) =>
  shop.ask(`PUT /customers/${id}`, { json, headers });
const taken = { code: 'invalid-parameter', errors: { storefront_customer_id: ['is taken'] } } as const;

test('a creation links the customer of its email, and the same id can be set again', async () => {
  const person = newPerson();
  const { customer_id: id } = await shop.issue(person);
  const customer = await read(id);
  assert.deepEqual([customer.id, customer.email, customer.storefront_customer_id], [id, ...Object.values(person)]);
  assert.match(String(customer.created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.equal((await shop.issue(person)).customer_id, id);
  await shop.issue({ email: person.email });
  await shop.issue({ email: person.email, storefront_customer_id: null });
  assert.deepEqual(await read(id), customer, 'a creation without the parameter does not change it');
  const [event] = await service.query(
    "select data from events where type = 'customer.created' and subject_id = ?",
    service.internalId(id ?? 0),
  );
  assert.deepEqual(JSON.parse(String(event?.['data'])), { customer: { id, ...person } });
}); // prettier-ignore

test('a creation links an unlinked customer', async () => {
  const { email, storefront_customer_id: linked } = newPerson();
  const { customer_id: id } = await shop.issue({ email });
  assert.equal((await read(id)).storefront_customer_id, null);
  await shop.issue({ email, storefront_customer_id: linked });
  assert.equal((await read(id)).storefront_customer_id, linked);
});

test('a creation that cannot link its customer does not issue a card', async () => {
  const [ada, grace] = [newPerson(), newPerson()];
  await shop.issue(ada);
  await shop.issue(grace);
  const create = (json: object) => ['POST /gift_card', { json: { initial_value: 5, ...json } }] as const;
  const theirs = { storefront_customer_id: ada.storefront_customer_id };
  await shop.rejects(...create({ ...newPerson(), ...theirs }), taken);
  const present = ['cannot replace the one that the customer already has'];
  const rejected = { code: 'invalid-parameter', errors: { storefront_customer_id: present } } as const;
  await shop.rejects(...create({ ...grace, ...theirs }), rejected);
  await shop.rejects(...create({ ...grace, storefront_customer_id: 4_999 }), rejected);
  const alone = ['cannot be set without email'];
  await shop.rejects(...create({ recipient_email: grace.email, storefront_customer_id: 4_999 }), {
    code: 'invalid-parameter',
    errors: { storefront_customer_id: alone },
  });
  for (const bad of [0, -1, 1.5, 2 ** 53, 'x', true, []])
    await shop.rejects(...create({ email: grace.email, storefront_customer_id: bad }), {
      code: 'invalid-parameter',
      errors: { storefront_customer_id: ['must be an integer from 1 to 2^53 - 1'] },
    });
  // The response contains all errors of a request.
  const { code } = await shop.issue({ code: `takencode${people}` });
  for (const value of [5, 0])
    await shop.rejects('POST /gift_card', { json: { initial_value: value, code, ...newPerson(), ...theirs } }, {
      code: 'invalid-parameter',
      errors: {
        ...(value === 0 && { initial_value: ['must be greater than 0'] }),
        code: ['is taken'],
        storefront_customer_id: ['is taken'],
      },
    });
}); // prettier-ignore

test('an id belongs to one customer of a store, and can belong to another one in another store', async () => {
  const person = newPerson();
  await shop.issue(person);
  const { customer_id: elsewhere } = await books.issue(person);
  const customer = customerOf(await books.ask(`GET /customers/${elsewhere}`));
  assert.equal(customer.storefront_customer_id, person.storefront_customer_id);
  problemOf(await shop.ask(`GET /customers/${elsewhere}`), { code: 'not-found' });
  problemOf(await put(elsewhere, { storefront_customer_id: null }), { code: 'not-found' });
});

test('an update sets, replaces and clears the id: bare, wrapped or in a form', async () => {
  const { email, storefront_customer_id: first } = newPerson();
  const second = newPerson().storefront_customer_id;
  const { customer_id: id } = await shop.issue({ email });
  const linked = async (response: Promise<TestResponse>) => customerOf(await response).storefront_customer_id;
  assert.equal(await linked(put(id, { storefront_customer_id: first })), first);
  assert.equal(await linked(put(id, { customer: { storefront_customer_id: second } })), second);
  assert.equal(await linked(put(id, {})), second, 'an empty update changes nothing');
  const form = {
    body: `customer%5Bstorefront_customer_id%5D=${first}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  };
  assert.equal(await linked(shop.ask(`PUT /customers/${id}`, form)), first);
  assert.equal(await linked(put(id, { storefront_customer_id: null })), null);
  assert.equal((await read(id)).storefront_customer_id, null);
});

test('a retrieved customer can be sent back, and its other fields cannot change', async () => {
  const { customer_id: id } = await shop.issue(newPerson());
  const customer = await read(id);
  assert.deepEqual(customerOf(await put(id, customer)), customer);
  const line = `PUT /customers/${id}` as const;
  const changed = { id: Number(id) + 1, email: 'other@example.com', created_at: '2020-01-01T00:00:00Z' };
  await shop.rejects(line, { json: changed }, {
    code: 'invalid-parameter',
    errors: Object.fromEntries(Object.keys(changed).map((name) => [name, ['cannot be changed']])),
  });
  await shop.rejects(line, { json: { name: 'Ada' } }, {
    code: 'invalid-parameter',
    errors: { name: ['is not a known parameter'] },
  });
}); // prettier-ignore

test('the id of another customer is taken, in concurrent requests too', async () => {
  const person = newPerson();
  await shop.issue(person);
  const ids = await Promise.all(
    Array.from({ length: 8 }, async () => (await shop.issue({ email: newPerson().email })).customer_id),
  );
  const json = { storefront_customer_id: person.storefront_customer_id };
  await shop.rejects(`PUT /customers/${ids[0]}`, { json }, taken);
  const free = { storefront_customer_id: newPerson().storefront_customer_id };
  const responses = await Promise.all(ids.map((id) => put(id, free)));
  assert.equal(responses.filter(({ status }) => status === 200).length, 1);
  for (const response of responses) if (response.status !== 200) problemOf(response, taken);
});

test('dry runs change nothing, and idempotency keys apply', async () => {
  const person = newPerson();
  const { customer_id: id } = await shop.issue({ email: person.email });
  const json = { storefront_customer_id: person.storefront_customer_id };
  await unchanged(service, async () => {
    const dryRun = await shop.ask(`PUT /customers/${id}?dry_run=true`, { json });
    assert.equal(customerOf(dryRun).storefront_customer_id, person.storefront_customer_id);
    assert.equal(dryRun.headers.get('dry-run'), 'true');
  });
  const headers = { 'idempotency-key': `link-${id}` };
  const first = await put(id, json, headers);
  await put(id, { storefront_customer_id: null });
  const again = await put(id, json, headers);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.equal(again.text, first.text);
  assert.equal((await read(id)).storefront_customer_id, null);
});

test('reading needs read_gift_cards, and linking needs write_gift_cards', async () => {
  const { customer_id: id } = await shop.issue(newPerson());
  const till = await shopOf(service, 'flowers.example', { scopes: ['redeem_gift_cards'] });
  const reader = await shopOf(service, 'flowers.example', { scopes: ['read_gift_cards'] });
  const writer = await shopOf(service, 'flowers.example', { scopes: ['write_gift_cards'] });
  const json = { storefront_customer_id: null };
  for (const own of [till, reader])
    await own.rejects(`PUT /customers/${id}`, { json }, { code: 'insufficient-scope' });
  for (const own of [till, writer])
    await own.rejects(`GET /customers/${id}`, {}, { code: 'insufficient-scope' });
  customerOf(await reader.ask(`GET /customers/${id}`));
  customerOf(await writer.ask(`PUT /customers/${id}`, { json }));
  problemOf(await service.request(`/customers/${id}`), { code: 'unauthenticated' });
});
