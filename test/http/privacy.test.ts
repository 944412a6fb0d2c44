/** Export and erasure of a customer: no trace of the address stays, and the money does. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { openBrowser } from '../support/browser.ts';
import { until } from '../support/delivering.ts';
import { engine } from '../support/engine.ts';
import { command } from '../support/served.ts';
import { startService, type TestResponse } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

const service = await startService({
  stores: [{ domain: 'flowers.example' }, { domain: 'books.example' }],
  limits: { erasurePeriodMs: 20 },
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const books = await shopOf(service, 'books.example');

type Erasure = Readonly<Record<string, unknown>> & { readonly status: string };

function erasureOf(response: TestResponse, status = 202): Erasure {
  assert.equal(response.status, status, response.text);
  return (response.json as { readonly erasure: Erasure }).erasure;
}

/** Erases a customer and waits until the erasure is complete and the log is empty. */
async function erased(customerId: number | null, json: object = {}): Promise<Erasure> {
  const line = `/customers/${customerId}`;
  erasureOf(await shop.ask(`POST ${line}/erase`, { json }));
  await until(async () => erasureOf(await shop.ask(`GET ${line}/erasure`), 200).status === 'complete');
  return erasureOf(await shop.ask(`GET ${line}/erasure`), 200);
}

/** Returns the encodings of an address, in any case, that bytes contain. */
function tracesIn(bytes: Uint8Array, address: string): readonly string[] {
  const found = Buffer.from(bytes).toString('latin1').toLowerCase();
  const forms = {
    text: Buffer.from(address).toString('latin1'),
    composed: Buffer.from(address.normalize('NFD')).toString('latin1'),
    utf16: Buffer.from(address, 'utf16le').toString('latin1'),
    utf16be: Buffer.from(address, 'utf16le').swap16().toString('latin1'),
    url: encodeURIComponent(address),
    hex: Buffer.from(address).toString('hex'),
    local: address.slice(0, address.indexOf('@')),
  };
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.from(`${'x'.repeat(shift)}${address}`)
      .toString('base64')
      .slice(4, -6)
      .toLowerCase(),
  );
  return [
    ...Object.entries(forms).flatMap(([name, form]) => (found.includes(form.toLowerCase()) ? [name] : [])),
    ...base64.flatMap((form) => (found.includes(form) ? ['base64'] : [])),
  ];
}

/** Waits until the files contain no trace: the log is emptied shortly after the erasure. */
async function assertNoTrace(address: string): Promise<void> {
  await until(async () => tracesIn(await service.database.bytes(), address).length === 0, 5_000).catch(
    () => undefined,
  );
  assert.deepEqual(tracesIn(await service.database.bytes(), address), []);
}

let people = 0;

/** Stores an address wherever the service stores one. */
async function plant(address: string) {
  people += 1;
  const storefront_customer_id = 7_000 + people;
  const key = `plant-${people}`;
  const bought = await shop.issue({
    email: address,
    storefront_customer_id,
    recipient_email: `friend-${people}@example.com`,
    message: `Best wishes, ${address}`,
    sender_name: `Me ${address}`,
    recipient_name: `You ${address}`,
    tags: [address.slice(0, 30), 'vip'],
    note: `Sold to ${address.toUpperCase()}`,
  });
  const received = await shop.issue({ email: `friend-${people}@example.com`, recipient_email: address });
  await shop.ask('POST /gift_card', {
    json: { initial_value: 5, email: address },
    headers: { 'idempotency-key': key },
  });
  const keyed = { json: {}, headers: { 'idempotency-key': `${key}-update` } };
  await shop.ask(`PUT /gift_card/${bought.id}`, keyed);
  const later = new Date(service.clock.now() + 86_400_000).toISOString();
  const unsent = await shop.issue({ recipient_email: address, send_on: later });
  await shop.debits(bought.id, '1.00', { reference: `for ${address}`, note: `by ${address.toLowerCase()}` });
  for (const note of [`again ${address}`, `Sold to ${address.toUpperCase()}`])
    await shop.accepts(
      `PUT /gift_card/${bought.id}`,
      { json: { note } },
      { events: ['gift_card.updated note'] },
    );
  const hold = await shop.holds(bought.id, '2.00', {
    reference: address,
    note: address,
    order_reference: address,
  });
  await shop.does(`POST /holds/${hold.id}/capture`, {}, { status: 201, events: ['gift_card.redeemed'] });
  await shop.holds(received.id, '1.00', { note: address });
  // Another person's card mentions the address.
  const other = await shop.issue({ email: `other-${people}@example.com`, note: `for ${address}` });
  const asked = { json: { note: `as ${address} asked` } };
  await shop.accepts(`PUT /gift_card/${other.id}`, asked, { events: ['gift_card.updated note'] });
  await shop.debits(other.id, '1.00', { note: `for ${address}` });
  await shop.ask(
    `GET /gift_card?last_characters=${received.last_characters}&email=${encodeURIComponent(address)}`,
  );
  await until(async () => {
    const [row] = await service.query("select count(*) as n from email_deliveries where state = 'queued'");
    return Number(row?.['n']) === 0;
  });
  await service.database.meddle(
    `update email_deliveries set response = '550 5.1.1 no such user: ${address}' where address = '${address}' and next_at is null`,
  );
  const [event] = await service.query(
    'select store_id, id from events where subject_id = ? order by id limit 1',
    service.internalId(received.id),
  );
  const [store, id] = [Number(event?.['store_id']), Number(event?.['id'])];
  const secret = engine.id === 'sqlite' ? "x'00'" : "'\\x00'::bytea";
  await service.database.meddle(
    `insert into webhooks (store_id, id, version, url, patterns, secret, status, paused_at, pause_reason, created_at, updated_at)
     values (${store}, ${people}, 1, 'https://shop.example/hook', ' * ', ${secret}, 'paused', 1, 'requested', 1, 1)`,
  );
  await service.database.meddle(
    `insert into webhook_deliveries (store_id, webhook_id, event_id, status, created_at, attempts, first_at, last_at, response_status, response_body, duration_ms)
     values (${store}, ${people}, ${id}, 'delivered', 1, 2, 1, 1, 200, 'thanks for ${address}', 1)`,
  );
  await service.database.meddle(
    `insert into webhook_attempts (store_id, webhook_id, event_id, attempt, attempted_at, duration_ms, response_status, response_body)
     values (${store}, ${people}, ${id}, 1, 1, 1, 500, 'sorry ${address}')`,
  );
  return { address, bought, received, unsent, other, storefront_customer_id, customerId: bought.customer_id };
}

/** Without clearing unallocated space, about every fourth erasure leaves a trace on SQLite. */
const more = engine.id === 'sqlite' ? [1, 2, 3, 4, 5, 6].map((place) => `Grâce.${place}@exämple.com`) : [];

for (const address of ['Ada.Lovelace+gift@Example.com', 'Grâce.Ωmega@exämple.com', ...more]) {
  test(`erasing ${address} leaves no byte of it in the database, a backup or the log`, async () => {
    const planted = await plant(address);
    const { customerId, bought, received, unsent, other } = planted;
    assert.notDeepEqual(
      tracesIn(await service.database.bytes(), address),
      [],
      'the search finds what is there',
    );
    const before = await Promise.all([bought, received, other].map(({ id }) => shop.transactions(id)));
    const result = await erased(customerId, { erase_notes: true });
    assert.deepEqual(result['unsent_gift_card_ids'], [unsent.id]);
    assert.equal(result['gift_cards'], 4);
    assert.equal(result['texts_left'], 0);
    await assertNoTrace(address);
    assert.deepEqual(tracesIn(Buffer.from(service.log()), address), [], 'the log has no address');
    for (const [place, { id }] of [bought, received, other].entries()) {
      const transactions = await shop.transactions(id);
      const money = before[place]?.map((transaction) => ({
        ...transaction,
        reference: null,
        note: null,
        order_reference: null,
      }));
      assert.deepEqual(transactions, money);
    }
    const verified = await command(service.environment, 'verify', '--json');
    assert.equal(verified.code, 0, verified.output);
    if (engine.id !== 'sqlite') return;
    const backup = join(service.database.folder, `later-${people}.db`);
    assert.equal((await command(service.environment, 'backup', backup)).code, 0);
    assert.deepEqual(tracesIn(readFileSync(backup), address), []);
  });
}

test('the reason of a suspension is erased as a note is, the first view always, and the card stays suspended', async () => {
  for (const erase_notes of [false, true]) {
    const email = `suspended-${erase_notes}@example.com`;
    const { id, code, customer_id: customerId } = await shop.issue({ initial_value: '5.00', email });
    const views = async () =>
      (await service.query('select viewed_at from gift_cards where viewed_at is not null')).length;
    const before = await views();
    assert.equal((await openBrowser(service).post('/b', { code })).status, 200);
    assert.equal(await views(), before + 1);
    await shop.ask(`POST /gift_card/${id}/suspend`, { json: { reason: 'Ann has called' } });
    await erased(customerId, { erase_notes });
    assert.equal(await views(), before);
    const { json } = await shop.ask(`GET /gift_cards/${id}`);
    const { gift_card: card } = json as { readonly gift_card: Readonly<Record<string, unknown>> };
    assert.deepEqual(
      [card['state'], card['suspend_reason']],
      ['suspended', erase_notes ? null : 'Ann has called'],
    );
    const history = await shop.ask(`GET /gift_card/${id}/history`);
    assert.equal(history.text.includes('Ann has called'), !erase_notes);
  }
});

test('an erased customer is not found, and the address becomes a new customer', async () => {
  const address = 'alan@example.com';
  const { customerId, bought, received, storefront_customer_id } = await plant(address);
  await erased(customerId);
  for (const { last_characters: last } of [bought, received]) {
    const search = `GET /gift_card?last_characters=${last}&email=${address}`;
    await shop.rejects(search, {}, { code: 'not-found' });
  }
  await shop.rejects(`GET /customers/${customerId}`, {}, { code: 'not-found' });
  await shop.rejects(`GET /customers/${customerId}/export`, {}, { code: 'not-found' });
  await shop.rejects(
    `PUT /customers/${customerId}`,
    { json: { storefront_customer_id: 9 } },
    { code: 'not-found' },
  );
  const card = await shop.read(bought.id);
  assert.deepEqual([card.customer_id, card.customer_email, card.message], [null, null, null]);
  assert.equal(card.recipient_email, `friend-${people}@example.com`, 'the other person stays');
  const again = await shop.issue({ email: address, storefront_customer_id });
  assert.notEqual(again.customer_id, customerId);
  assert.equal(again.customer_email, address);
});

test('an erasure without notes reports the notes that contain the address', async () => {
  const address = 'edsger@example.com';
  const { customerId, bought, other } = await plant(address);
  const result = await erased(customerId);
  assert.equal(result['texts_erased'], 0);
  // Two cards, two debits and a capture, two holds, three changes.
  assert.equal(result['texts_left'], 10);
  assert.match((await shop.read(bought.id)).note ?? '', /EDSGER@EXAMPLE.COM/);
  assert.match((await shop.read(other.id)).note ?? '', /as edsger/);
  const errors = { erase_notes: ['cannot be set because the address is already erased'] };
  await shop.rejects(
    `POST /customers/${customerId}/erase`,
    { json: { erase_notes: true } },
    { code: 'invalid-parameter', errors },
  );
});

type ListedEvent = {
  readonly type: string;
  readonly data: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
};

test('subscribers receive an event for each card and for the customer', async () => {
  const { customerId, bought, received, unsent } = await plant('barbara@example.com');
  const [newest] = await service.query('select max(id) as id from events');
  const next = `/events?after=${Number(newest?.['id'])}`;
  const versions = await Promise.all([bought, received, unsent].map(({ id }) => shop.tag(id)));
  await erased(customerId);
  // On a shared server, a list of events is complete only after older transactions of other tests.
  let events: readonly ListedEvent[] = [];
  await until(async () => {
    ({ events } = (await shop.ask(`GET ${next}`)).json as { readonly events: readonly ListedEvent[] });
    return events.some(({ type }) => type === 'customer.erased');
  });
  assert.deepEqual(events.map(({ type }) => type).toSorted(), [
    'customer.erased',
    ...Array.from({ length: 4 }, () => 'gift_card.updated'),
  ]);
  assert.deepEqual(events.at(-1)?.data, {
    customer: { id: customerId, email: null, storefront_customer_id: null },
  });
  const changed = events.find(({ data }) => data['gift_card']?.['id'] === bought.id)?.data['changed'];
  assert.deepEqual(changed, ['customer_id', 'customer_email', 'message', 'sender_name', 'recipient_name']);
  const tags = await Promise.all([bought, received, unsent].map(({ id }) => shop.tag(id)));
  assert.ok(
    tags.every((tag, place) => tag !== versions[place]),
    'the entity tags change',
  );
});

test('emails that were not sent are cancelled', async () => {
  const { customerId, unsent } = await plant('frances@example.com');
  await erased(customerId);
  const response = await shop.ask(`GET /gift_card/${unsent.id}/deliveries`);
  const [email] = (response.json as { readonly deliveries: readonly Readonly<Record<string, unknown>>[] })
    .deliveries;
  assert.deepEqual(
    [email?.['status'], email?.['recipient'], email?.['cancel_reason']],
    ['cancelled', null, 'the customer was erased'],
  );
});

test('a repeated request returns the same erasure, and another store finds no customer', async () => {
  const { customerId } = await plant('donald@example.com');
  for (const line of ['POST /customers/:id/erase', 'GET /customers/:id/erasure', 'GET /customers/:id/export'])
    await books.rejects(line.replace(':id', String(customerId)), {}, { code: 'not-found' });
  await shop.rejects(`GET /customers/${customerId}/erasure`, {}, { code: 'not-found' });
  const first = await erased(customerId);
  assert.deepEqual(erasureOf(await shop.ask(`POST /customers/${customerId}/erase`)), first);
  const dry = await plant('dry@example.com');
  erasureOf(await shop.ask(`POST /customers/${dry.customerId}/erase?dry_run=true`));
  assert.equal((await shop.ask(`GET /customers/${dry.customerId}`)).status, 200);
});

test('only a token with manage_customers exports and erases', async () => {
  const { customerId } = await plant('scope@example.com');
  const token = await shop.tokenFor('read_gift_cards', 'write_gift_cards', 'read_events', 'manage_webhooks');
  for (const line of ['POST /customers/:id/erase', 'GET /customers/:id/erasure', 'GET /customers/:id/export'])
    await shop.rejects(line.replace(':id', String(customerId)), { token }, { code: 'insufficient-scope' });
});

test('an export contains everything about the customer, and nothing about others', async () => {
  const address = 'katherine@example.com';
  const { customerId, bought, received, unsent, other } = await plant(address);
  await openBrowser(service).post('/b', { code: bought.code });
  const response = await shop.ask(`GET /customers/${customerId}/export`);
  assert.equal(response.status, 200, response.text);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  type Card = {
    id: number;
    transactions: unknown[];
    holds: unknown[];
    emails: { recipient: string }[];
    viewed_at: string | null;
    code?: string;
  };
  const document = response.json as {
    customer: { id: number; email: string };
    gift_cards: Card[];
    events: { type: string; data: { gift_card?: { id: number } } }[];
  };
  assert.deepEqual([document.customer.id, document.customer.email], [customerId, address]);
  const cards = new Map(document.gift_cards.map((card) => [card.id, card]));
  assert.equal(cards.size, 4);
  assert.ok([bought, received, unsent].every(({ id }) => cards.has(id)));
  assert.equal(cards.get(bought.id)?.transactions.length, 3);
  assert.equal(cards.get(bought.id)?.holds.length, 1);
  assert.match(cards.get(bought.id)?.viewed_at ?? '', /^\d{4}-\d\d-\d\dT/);
  assert.equal(cards.get(received.id)?.viewed_at, null);
  assert.ok(
    document.gift_cards.every(({ emails }) => emails.every(({ recipient }) => recipient === address)),
  );
  assert.ok((cards.get(unsent.id)?.emails.length ?? 0) > 0);
  assert.ok(document.gift_cards.every((card) => !('code' in card)));
  assert.ok(document.events.some(({ type }) => type === 'customer.created'));
  assert.ok(
    document.events.some(({ data }) => data.gift_card?.id === other.id),
    'an event of another card mentions the address',
  );
  assert.equal((await shop.ask(`HEAD /customers/${customerId}/export`)).status, 200);
  const printed = await command(
    service.environment,
    'customer',
    'export',
    '--store',
    'flowers.example',
    address,
  );
  assert.equal(printed.code, 0, printed.output);
  assert.deepEqual(JSON.parse(printed.output), document);
});

test('the log contains no address, whatever the request', async () => {
  const address = 'logged@example.com';
  const query = encodeURIComponent(address);
  const { bought } = await plant(address);
  await shop.ask(`GET /gift_card?last_characters=zzzz&email=${query}`);
  await shop.ask(`GET /gift_card?last_characters=zzzz&unknown=${query}`);
  await shop.ask('POST /gift_card', { json: { initial_value: 1, email: `${address}@` } });
  await shop.ask('POST /gift_card', { json: { initial_value: address } });
  await shop.ask(`GET /nothing/${query}?email=${query}`);
  await shop.ask(`PUT /gift_card/${bought.id}`, {
    json: { note: address },
    headers: { 'x-request-id': 'ok' },
  });
  await shop.ask(`GET /gift_card/${bought.id}`, {
    headers: { referer: `https://x.example/?q=${query}`, from: address, 'user-agent': address },
  });
  assert.ok(service.log().includes('"route"'));
  assert.deepEqual(tracesIn(Buffer.from(service.log()), address), []);
});
