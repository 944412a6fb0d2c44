/**
 * The service is killed at random moments while callers race for printed cards and repeat external ids. A code becomes at
 * most one gift card, and an external id makes at most one object, whether a request got its response or not.
 *
 * `CRASH_ROUNDS` sets the number of rounds, `CRASH_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../support/delivering.ts';
import { engine } from '../support/engine.ts';
import { assertVerified } from '../support/kills.ts';
import { seeded } from '../support/seeded.ts';
import { databaseToServe, openShop, serve } from '../support/served.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? engine.rounds(4));
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const callers = 16;
const codesMax = 600;

/** The requests of several callers at the same time, and again after a kill. */
type Request = {
  readonly kind: 'activation' | 'card' | 'debit' | 'hold';
  readonly path: string;
  readonly json: object;
  /** The ids in responses of success. */
  readonly ids: Set<number>;
  /** Whether a request had no response. */
  isOpen: boolean;
};

type Caller = { readonly url: string; readonly token: string };

async function post({ url, token }: Caller, path: string, json: object) {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(json),
  });
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
}

function idOf(body: Readonly<Record<string, unknown>>, kind: Request['kind']): number {
  const names = { activation: 'gift_card', card: 'gift_card', debit: 'transaction', hold: 'hold' } as const;
  return (body[names[kind]] as { readonly id: number }).id;
}

/** Sends a request. @returns whether there was a response. */
async function send(caller: Caller, request: Request): Promise<boolean> {
  let response;
  try {
    response = await post(caller, request.path, request.json);
  } catch {
    // The service was killed.
    request.isOpen = true;
    return false;
  }
  const { status, body } = response;
  if (request.kind === 'activation' && status === 422)
    assert.match(String(body['type']), /already-activated$/, JSON.stringify(body));
  else {
    assert.ok(status === 201 || (status === 200 && request.kind !== 'activation'), JSON.stringify(body));
    request.ids.add(idOf(body, request.kind));
  }
  return true;
}

/** The requests in their order: printed cards as long as there are some, and objects with external ids. */
function requestAt(place: number, codes: readonly string[], cardId: number): Request {
  const code = place % 2 === 0 ? codes[place / 2] : undefined;
  const rest = { ids: new Set<number>(), isOpen: false };
  if (code !== undefined)
    return { kind: 'activation', path: '/gift_card', json: { code, initial_value: '25.00' }, ...rest };
  const external_id = `order-${place}`;
  const kind = (['card', 'debit', 'hold'] as const)[place % 3] ?? 'card';
  if (kind === 'card')
    return { kind, path: '/gift_card', json: { initial_value: '5.00', external_id }, ...rest };
  const path = `/gift_card/${cardId}/${kind === 'debit' ? 'debit' : 'holds'}`;
  return { kind, path, json: { amount: '0.01', external_id }, ...rest };
}

async function openStock(caller: Caller): Promise<readonly string[]> {
  const codes = Array.from({ length: codesMax }, (_, place) => `KILLED-${String(place).padStart(6, '0')}`);
  const { status, body } = await post(caller, '/stocks', { codes, fixed_value: '25.00' });
  assert.equal(status, 202, JSON.stringify(body));
  const { id } = body['stock'] as { readonly id: number };
  const headers = { authorization: `Bearer ${caller.token}` };
  await until(async () =>
    (await (await fetch(`${caller.url}/stocks/${id}`, { headers })).text()).includes('"complete"'),
  );
  return codes;
}

test(`each code and each external id is used once when the service is killed ${rounds} times`, async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  await using database = await databaseToServe();
  const { environment } = database;
  const token = await openShop(environment, 'flowers.example');
  const requests: Request[] = [];
  let codes: readonly string[] = [];
  let cardId = 0;
  let cut = 0;
  for (let round = 0; round <= rounds; round += 1) {
    await using service = await serve(environment);
    const caller = { url: service.url, token };
    if (round === 0) {
      codes = await openStock(caller);
      cardId = idOf((await post(caller, '/gift_card', { initial_value: '500.00' })).body, 'card');
    }
    // Requests without a response are sent again, by two callers.
    const open = requests.filter(({ isOpen }) => isOpen);
    cut += open.length;
    for (const request of open) request.isOpen = false;
    const decided = await Promise.all([...open, ...open].map((request) => send(caller, request)));
    assert.ok(decided.every(Boolean));
    if (round === rounds) break;

    let taken = 2 * requests.length;
    let responses = 0;
    const work = async (): Promise<void> => {
      for (let isAlive = true; isAlive;) {
        // Each request is sent by two callers at about the same time.
        const place = Math.floor(taken / 2);
        taken += 1;
        const request = requests[place] ?? requestAt(place, codes, cardId);
        requests[place] = request;
        isAlive = await send(caller, request);
        responses += 1;
      }
    };
    const working = Promise.all(Array.from({ length: callers }, work));
    // Kills after some responses, at a random moment.
    for (const target = random.between(callers, 5 * callers); responses < target;) await wait(1);
    await wait(random.between(0, 20));
    service.kill('SIGKILL');
    await working;
  }

  for (const { ids, json } of requests) assert.ok(ids.size <= 1, JSON.stringify(json));
  const count = (kind: Request['kind']): number => requests.filter((each) => each.kind === kind).length;
  const [found] = await database.query(`
    select (select count(*) from gift_cards) as cards, (select count(*) from external_ids) as external_ids,
      (select count(*) from transfers where kind = 'debit') as debits, (select count(*) from holds) as holds,
      (select count(*) from stock_codes where sold_at is not null) as sold,
      (select count(distinct k.card_id) from stock_codes c
        join gift_card_codes k on k.store_id = c.store_id and k.lookup = c.lookup) as sold_cards`);
  const activations = count('activation');
  const external = { card: count('card'), debit: count('debit'), hold: count('hold') };
  assert.deepEqual(
    Object.fromEntries(Object.entries(found ?? {}).map(([name, value]) => [name, Number(value)])),
    {
      cards: 1 + activations + external.card,
      external_ids: external.card + external.debit + external.hold,
      debits: external.debit,
      holds: external.hold,
      sold: activations,
      sold_cards: activations,
    },
  );
  await assertVerified(environment);
  assert.ok(activations > rounds, `only ${activations} activations`);
  t.diagnostic(`${requests.length} requests, ${cut} of which had no response`);
});
