/** Checkpoints and proofs, verified with the example that shares no code with the service. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { Rejected, verifyLedger } from '../../examples/verify-ledger.ts';
import { until } from '../support/delivering.ts';
import { startService } from '../support/service.ts';
import { shopOf, type Shop } from '../support/shop.ts';

const service = await startService({
  stores: [{ domain: 'flowers.example' }, { domain: 'books.example' }, { domain: 'empty.example' }],
});
after(() => service[Symbol.asyncDispose]());
const flowers = await shopOf(service, 'flowers.example');

type Sent = { readonly [name: string]: unknown };

async function get<T>(shop: Shop, path: string): Promise<T> {
  const response = await shop.ask(`GET ${path}`);
  if (response.status !== 200) throw new Rejected(`${path}: ${response.text}`);
  return JSON.parse(response.text) as T;
}

type Checkpoint = { readonly id: number; readonly size: number; readonly note: string; readonly day: null };

async function create(shop: Shop): Promise<Checkpoint> {
  const response = await shop.ask('POST /checkpoints');
  assert.equal(response.status, 201, response.text);
  return (JSON.parse(response.text) as { checkpoint: Checkpoint }).checkpoint;
}

/** Waits until the log has this number of entries, because PostgreSQL waits for all older transactions. */
async function createOf(shop: Shop, size: number): Promise<Checkpoint> {
  let made: Checkpoint | undefined;
  await until(async () => (made = await create(shop)).size >= size);
  assert.equal(made?.size, size);
  return made;
}

test('a client verifies cards, keeps a checkpoint, and verifies that the log continues it', async () => {
  const { id } = await flowers.issue({ note: 'before' });
  await flowers.debits(id, '5');
  await flowers.accepts(`PUT /gift_card/${id}`, { json: { note: 'after' } }, { events: ['gift_card.updated note'] }); // prettier-ignore
  const { size } = await createOf(flowers, 3);
  const fetched = <T>(path: string): Promise<T> => get<T>(flowers, path);
  const first = await verifyLedger(fetched, { kept: undefined, cards: [String(id)] });
  assert.deepEqual(first.lines, [
    'checkpoint: 3 entries',
    `gift card ${id}: balance 20.00 USD; the log contains its 2 transactions and 1 changes`,
  ]);
  for (let count = 0; count < 300; count += 1) await flowers.debits(id, '0.01');
  await createOf(flowers, size + 300);
  const second = await verifyLedger(fetched, { kept: first.keep, cards: [String(id)] });
  assert.deepEqual(second.lines, [
    'checkpoint: 303 entries, continues the kept one',
    `gift card ${id}: balance 17.00 USD; the log contains its 302 transactions and 1 changes`,
  ]);
  await assert.rejects(
    verifyLedger(fetched, {
      kept: { ...first.keep, note: first.keep.note.replace('\n3\n', '\n2\n') },
      cards: [],
    }),
    /no trusted key has signed/,
  );
  const proven = { [`${id} transactions`]: { length: 2, hash: 'A'.repeat(43) } };
  await assert.rejects(
    verifyLedger(fetched, { kept: { ...second.keep, proven }, cards: [String(id)] }),
    /the transactions are not those that were kept/,
  );
});

test('a checkpoint is listed, and published as an event', async () => {
  const shop = await shopOf(service, 'books.example');
  const made: Checkpoint[] = [];
  for (let size = 1; size <= 3; size += 1) {
    await shop.issue();
    made.unshift(await createOf(shop, size));
  }
  const { checkpoints } = await get<{ checkpoints: Checkpoint[] }>(shop, '/checkpoints');
  const known = new Set(made.map(({ id }) => id));
  assert.deepEqual(checkpoints.filter(({ id }) => known.has(id)), made); // prettier-ignore
  const page = await shop.ask('GET /checkpoints?limit=1');
  assert.match(page.headers.get('link') ?? '', /<\/checkpoints\?limit=1&before=\d+>; rel="next"/);
  const next = await get<{ checkpoints: Checkpoint[] }>(shop, `/checkpoints?limit=1&before=${made[0]?.id}`);
  assert.ok((next.checkpoints[0]?.id ?? 0) < (made[0]?.id ?? 0));
  await until(async () => {
    const { events } = await get<{ events: { type: string; data: Sent }[] }>(shop, '/events?limit=250');
    const published = events.filter(({ type }) => type === 'checkpoint.created').map(({ data }) => data['checkpoint']); // prettier-ignore
    return made.every((one) => published.some((data) => JSON.stringify(data) === JSON.stringify(one)));
  });
});

test('a repeated request for a checkpoint returns the same one, and a dry run creates none', async () => {
  const shop = await shopOf(service, 'empty.example');
  const dry = await shop.ask('POST /checkpoints?dry_run=true');
  assert.equal(dry.status, 201, dry.text);
  assert.deepEqual(await get(shop, '/checkpoints'), { checkpoints: [] });
  const { id, size } = await create(shop);
  assert.equal(size, 0);
  assert.equal((await create(shop)).id, id);
});

test('proofs of trees, pages and cards that do not exist are rejected', async () => {
  const ask = (path: string) => flowers.ask(`GET ${path}`);
  const { checkpoints } = await get<{ checkpoints: Checkpoint[] }>(flowers, '/checkpoints?limit=1');
  const size = checkpoints[0]?.size ?? 0;
  for (const query of ['', '?from=1', '?to=1', '?from=0&to=1', '?from=2&to=1', `?from=1&to=${size + 1_000}`, '?from=x&to=1'])
    assert.equal((await ask(`/checkpoints/consistency${query}`)).status, 400, query); // prettier-ignore
  assert.equal((await ask(`/checkpoints/consistency?from=${size}&to=${size}`)).status, 200);
  assert.equal((await ask('/checkpoints?before=1')).status, 400);
  const { id } = await flowers.issue();
  const other = await shopOf(service, 'books.example');
  assert.equal((await other.ask(`GET /gift_card/${id}/proof`)).status, 404);
  assert.equal((await ask(`/gift_card/${id}/proof?after=0`)).status, 400);
  const beyond = await get<{ gift_card_proof: Sent }>(flowers, `/gift_card/${id}/proof?after=5`);
  assert.deepEqual(beyond.gift_card_proof['entries'], []);
});

test('checkpoints require read_reports, and proofs of cards read_gift_cards', async () => {
  const { id } = await flowers.issue();
  const reports = await flowers.tokenFor('read_reports');
  const cards = await flowers.tokenFor('read_gift_cards');
  for (const line of ['GET /checkpoints', 'POST /checkpoints', 'GET /checkpoints/key', 'GET /checkpoints/consistency?from=1&to=1', 'GET /checkpoints/leaves']) {
    assert.equal((await flowers.ask(line, { token: cards })).status, 403, line);
    assert.ok((await flowers.ask(line, { token: reports })).status < 300, line);
  } // prettier-ignore
  assert.equal((await flowers.ask(`GET /gift_card/${id}/proof`, { token: reports })).status, 403);
  assert.equal((await flowers.ask(`GET /gift_card/${id}/proof`, { token: cards })).status, 200);
});

test('the background job appends entries without a request', async () => {
  const { id } = await flowers.issue();
  await until(async () => {
    const { gift_card_proof: proof } = await get<{ gift_card_proof: Sent }>(
      flowers,
      `/gift_card/${id}/proof`,
    );
    return proof['proven'] === 1;
  });
});
