/** Budgets of failed lookups: those of the visitors of a token, and what is served while one is exhausted. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { ExpectedProblem } from '../support/responses.ts';
import { giftCardOf, problemOf } from '../support/responses.ts';
import { viewOf, withoutRequestId } from '../support/money-responses.ts';
import { changeStoreElsewhere } from '../support/second-process.ts';
import { until } from '../support/delivering.ts';
import { startService, type TestResponse, type TestService } from '../support/service.ts';
import { shopOf, type Ask, type Shop } from '../support/shop.ts';

const domain = 'flowers.example';
const lookup = 'POST /gift_card/lookup';
const redeem = 'POST /gift_card/redeem';
const grace = 'grace@example.com';
const hourMs = 3_600_000;
const throttled: ExpectedProblem = { code: 'too-many-misses' };

type Opened = { readonly service: TestService; readonly shop: Shop } & AsyncDisposable;

async function opened(environment: Readonly<Record<string, string>> = {}): Promise<Opened> {
  const service = await startService({
    stores: [{ domain, undoWindowMinutes: 15 }],
    stopsClock: true,
    environment,
    limits: { upkeepPeriodMs: 50 },
  });
  const shop = await shopOf(service, domain);
  return { service, shop, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

/** Requests for a visitor. */
function asVisitor(shop: Shop, visitor: string): Shop['ask'] {
  return (line, request: Ask = {}) =>
    shop.ask(line, { ...request, headers: { ...request.headers, 'largesse-visitor': visitor } });
}

/** Requests that name no visitor. */
function asItself(shop: Shop): Shop['ask'] {
  return (line, request) => shop.ask(line, request);
}

let guesses = 0;

/** A code that no card has. */
function wrongCode(): string {
  guesses += 1;
  return `wrong${String(guesses).padStart(9, '0')}`;
}

/** Uses up a budget of `count` failures. */
async function failLookups(ask: Shop['ask'], count: number): Promise<void> {
  for (let tried = 0; tried < count; tried += 1)
    problemOf(await ask(lookup, { json: { code: wrongCode() } }), { code: 'not-found' });
}

async function useUpVisitors(shop: Shop, perVisitor: number, visitors: number): Promise<void> {
  for (let visitor = 0; visitor < visitors; visitor += 1)
    await failLookups(asVisitor(shop, `stranger-${visitor}`), perVisitor);
}

test('1,000 wrong codes of 100 visitors stop no generated code, hold or capture of a paid order', async () => {
  await using started = await opened();
  const { shop } = started;
  const plastic = await shop.issue({ code: 'plastic-0001', recipient_email: grace });
  const cards = await Promise.all(Array.from({ length: 20 }, () => shop.issue()));
  const placed = await Promise.all(cards.map(({ id }) => shop.holds(id, '10.00')));
  await useUpVisitors(shop, 10, 100);

  for (const [place, { id, code }] of cards.entries()) {
    const ask = asVisitor(shop, `customer-${place}`);
    assert.equal(viewOf(await ask(lookup, { json: { code } })).gift_card.id, id);
    assert.equal((await ask(`POST /gift_card/${id}/holds`, { json: { amount: '1.00' } })).status, 201);
    const hold = placed[place]?.id;
    assert.equal((await ask(`POST /holds/${hold}/capture`)).status, 201);
    assert.equal((await ask(redeem, { json: { code, amount: '1.00' } })).status, 201);
  }
  const customer = asVisitor(shop, 'customer-of-plastic');
  for (const json of [{ code: plastic.code }, { code: plastic.code, email: 'eve@example.com' }]) {
    problemOf(await customer(lookup, { json }), throttled);
    problemOf(await customer(redeem, { json: { ...json, amount: '1.00' } }), throttled);
  }
  const own = { code: plastic.code, email: 'GRACE@example.com' };
  assert.equal(viewOf(await customer(lookup, { json: own })).gift_card.id, plastic.id);
  assert.equal((await customer(redeem, { json: { ...own, amount: '1.00' } })).status, 201);
  // The failures of the visitors are not those of the token.
  assert.equal(viewOf(await shop.ask(lookup, { json: { code: plastic.code } })).gift_card.id, plastic.id);
  problemOf(await shop.ask(lookup, { json: { code: wrongCode() } }), { code: 'not-found' });
});

test('a visitor has 20 failed lookups an hour, which no other visitor and not the token uses', async () => {
  await using started = await opened();
  const { service, shop } = started;
  const { code } = await shop.issue({ code: 'plastic-0002', recipient_email: grace });
  const visitor = asVisitor(shop, 'visitor-1');
  await failLookups(visitor, 20);
  const rejected = await visitor(lookup, { json: { code: wrongCode() } });
  problemOf(rejected, throttled);
  const wait = Number(rejected.headers.get('retry-after'));
  assert.ok(wait > 170 && wait <= 180, String(wait));
  problemOf(await visitor(lookup, { json: { code } }), throttled);
  // An address helps only while the budget of all visitors is exhausted.
  problemOf(await visitor(lookup, { json: { code, email: grace } }), throttled);
  for (const ask of [asVisitor(shop, 'visitor-2'), asItself(shop), asVisitor(await shopOf(service, domain), 'visitor-1')]) {
    assert.equal((await ask(lookup, { json: { code } })).status, 200);
    await failLookups(ask, 1);
  }
  service.clock.advance(wait * 1_000);
  assert.equal((await visitor(lookup, { json: { code } })).status, 200);
}); // prettier-ignore

test('the limit of a visitor is a setting, and never above that of the store', async () => {
  await using started = await opened({ VISITOR_LOOKUP_MISSES: '3' });
  const { service, shop } = started;
  await failLookups(asVisitor(shop, 'visitor-1'), 3);
  problemOf(await asVisitor(shop, 'visitor-1')(lookup, { json: { code: wrongCode() } }), throttled);
  const cards = (count: number) =>
    Array.from({ length: count }, () => ({ initial_value: 5, code: wrongCode() }));
  const batch = asVisitor(shop, 'visitor-2');
  problemOf(await batch('POST /batches', { json: { cards: cards(4) } }), {
    code: 'invalid-parameter',
    errors: { cards: ['must have at most 3 codes, the limit of failed lookups'] },
  });
  assert.equal((await batch('POST /batches?dry_run=true', { json: { cards: cards(3) } })).status, 202);
  await failLookups(batch, 1);
  problemOf(await batch('POST /batches?dry_run=true', { json: { cards: cards(3) } }), throttled);
  await changeStoreElsewhere(service, domain, { lookupFailuresPerHour: 2 });
  service.clock.advance(hourMs);
  await failLookups(asVisitor(shop, 'visitor-3'), 2);
  problemOf(await asVisitor(shop, 'visitor-3')(lookup, { json: { code: wrongCode() } }), throttled);
});

test('a visitor has 1 to 128 visible ASCII characters', async () => {
  await using started = await opened();
  const { shop } = started;
  const { code } = await shop.issue();
  for (const name of ['a', '!~', 'v'.repeat(128)])
    assert.equal((await asVisitor(shop, name)(lookup, { json: { code } })).status, 200);
  for (const name of ['', 'a b', 'v'.repeat(129), 'caf\u00e9', 'a\tb'])
    for (const [line, request] of [
      [lookup, { json: { code } }],
      ['GET /gift_cards', {}],
    ] as const)
      problemOf(await asVisitor(shop, name)(line, request), { code: 'invalid-visitor' });
});

test('a visitor is neither logged nor stored, and its row is erased with its failures', async () => {
  await using started = await opened();
  const { service, shop } = started;
  const name = 'visitor-of-10.1.2.3';
  await failLookups(asVisitor(shop, name), 20);
  problemOf(await asVisitor(shop, name)(lookup, { json: { code: wrongCode() } }), throttled);
  problemOf(await asVisitor(shop, `${name} x`)('GET /events'), { code: 'invalid-visitor' });
  const rows = await service.query('select caller from lookup_throttle order by caller');
  const token = /^token:\d+ /.exec(String(rows[0]?.['caller']))?.[0];
  assert.match(String(rows[0]?.['caller']), /^token:\d+ visitor:[\w-]{22}$/);
  assert.deepEqual(rows.slice(1), [{ caller: `${token}visitors` }]);
  assert.doesNotMatch(service.log(), /10\.1\.2\.3/);
  assert.doesNotMatch((await service.request('/metrics')).text, /10\.1\.2\.3/);
  const developers = await service.query('select * from request_blocks');
  assert.doesNotMatch(JSON.stringify(developers, (_, value: unknown) => typeof value === 'bigint' ? String(value) : value), /10\.1\.2\.3/);
  const callers = async () => (await service.query('select caller from lookup_throttle')).length;
  // The failures of an hour, and the time after it for which counters are stored.
  service.clock.advance(hourMs / 2);
  await failLookups(asVisitor(shop, 'another'), 1);
  assert.equal(await callers(), 3, 'the budget is not full again');
  service.clock.advance(25 * hourMs);
  await until(async () => (await callers()) === 0);
}); // prettier-ignore

test('new visitors of every request share the budget of all, and leave no more rows than it has', async () => {
  await using started = await opened({ LOOKUP_MISSES: '5' });
  const { service, shop } = started;
  const { code } = await shop.issue({ code: 'plastic-0003' });
  for (let number = 0; number < 30; number += 1) {
    const response = await asVisitor(shop, `new-${number}`)(lookup, { json: { code: wrongCode() } });
    assert.equal(response.status, number < 5 ? 404 : 429);
    if (number >= 5) problemOf(await asVisitor(shop, `other-${number}`)(lookup, { json: { code } }), throttled);
  }
  const lines = service.log().split('\n').filter((line) => line.includes('lookups of a caller are rejected'));
  assert.equal(lines.length, 1, 'one line for all visitors of the token');
  const rows = await service.query('select caller from lookup_throttle');
  assert.equal(rows.length, 6);
  service.clock.advance(hourMs / 5);
  assert.equal((await asVisitor(shop, 'late')(lookup, { json: { code } })).status, 200);
}); // prettier-ignore

test('a wrong address counts for its visitor, and an absent one does not', async () => {
  await using started = await opened({ LOOKUP_MISSES: '2', VISITOR_LOOKUP_MISSES: '2' });
  const { shop } = started;
  const { code } = await shop.issue({ code: 'plastic-0004', recipient_email: grace });
  await useUpVisitors(shop, 1, 2);
  const [own, patient] = [asVisitor(shop, 'own'), asVisitor(shop, 'patient')];
  for (let tried = 0; tried < 5; tried += 1) problemOf(await patient(lookup, { json: { code } }), throttled);
  assert.equal((await patient(lookup, { json: { code, email: grace } })).status, 200);
  for (const json of [
    { code, email: 'eve@example.com' },
    { code: wrongCode(), email: grace },
  ]) {
    problemOf(await own(lookup, { json }), throttled);
  }
  problemOf(await own(lookup, { json: { code, email: grace } }), throttled);
  assert.equal((await patient(lookup, { json: { code, email: grace } })).status, 200);
});

test('an exhausted budget serves ids, paths and generated codes that exist, and nothing else', async () => {
  await using started = await opened({ LOOKUP_MISSES: '1' });
  const { service, shop } = started;
  const chosen = await shop.issue({ code: 'plastic-0005', email: 'ada@example.com' });
  const { id, code } = await shop.issue({ email: 'ada@example.com' });
  const made = await shop.holds(id, '5.00', { external_id: 'checkout-1' });
  const spent = await shop.debits(id, '1.00', { external_id: 'order-1' });
  const rotated = await shop.issue();
  await shop.ask(`POST /gift_card/${rotated.id}/rotate_code`);
  await failLookups(asItself(shop), 1);

  for (const line of [
    `GET /gift_card/${id}`, `GET /gift_cards/${id}`, `GET /gift_card/${id}/balance`, `GET /holds/${made.id}`,
    'GET /holds/external:checkout-1', `GET /transactions/${spent.id}`, 'GET /transactions/external:order-1',
  ]) assert.equal((await shop.ask(line)).status, 200, line); // prettier-ignore
  assert.equal((await shop.ask(`PUT /gift_card/${id}`, { json: { note: 'x', code } })).status, 200);
  problemOf(await shop.ask(`POST /gift_card/${id}/debit`, { json: { amount: '500.00' } }), {
    code: 'insufficient-balance',
    available: '19.00',
  });
  assert.equal((await shop.ask(lookup, { json: { code } })).status, 200);
  assert.equal((await shop.ask(redeem, { json: { code, amount: '1.00' } })).status, 201);
  const till = await shop.tokenFor('redeem_gift_cards');
  await failLookups((line, request) => shop.ask(line, { ...request, token: till }), 1);
  assert.equal((await shop.ask(lookup, { json: { code }, token: till })).status, 200);
  problemOf(await shop.ask('GET /holds/external:checkout-1', { token: till }), throttled);

  for (const [line, json] of [
    [lookup, { code: chosen.code }],
    [lookup, { code: rotated.code }],
    [lookup, { code: wrongCode() }],
    [redeem, { code: chosen.code, amount: '1.00', external_id: 'x' }],
    [redeem, { code: wrongCode(), amount: '1.00', external_id: 'x' }],
    [`GET /gift_card?last_characters=${chosen.last_characters}&email=ada@example.com`, undefined],
    ['GET /gift_card?last_characters=zzzz&email=ada@example.com', undefined],
    ['GET /gift_card/9007199254740991', undefined],
    ['PUT /gift_card/9007199254740991', { note: 'x' }],
    [`PUT /gift_card/${chosen.id}`, { code: chosen.code }],
    [`PUT /gift_card/${id}`, { code: wrongCode() }],
    [`PUT /gift_card/${id}`, { code: rotated.code }],
    ['POST /gift_card', { initial_value: 5, code: chosen.code }],
    ['POST /gift_card', { initial_value: 5, code: wrongCode() }],
    ['POST /gift_card', { initial_value: 0, code: wrongCode() }],
    ['POST /batches', { cards: [{ initial_value: 5, code: wrongCode() }] }],
    ['POST /stocks', { codes: [wrongCode()], fixed_value: '5.00' }],
    ['GET /customers/9007199254740991', undefined],
  ] as const)
    problemOf(await shop.ask(line, json && { json }), throttled);
  const rows = await service.query('select caller from lookup_throttle');
  assert.equal(rows.length, 2);
  await shop.issue();
});

test('captures, voids, extensions and reversals are never rejected, and an unknown id counts', async () => {
  await using started = await opened({ LOOKUP_MISSES: '2' });
  const { shop } = started;
  const { id } = await shop.issue();
  const [first, second] = [await shop.holds(id, '5.00', { external_id: 'a' }), await shop.holds(id, '5.00')];
  const spent = await shop.debits(id, '1.00');
  const till = await shop.tokenFor('redeem_gift_cards');
  const ask: Shop['ask'] = (line, request) => shop.ask(line, { ...request, token: till });
  problemOf(await ask('POST /holds/9007199254740991/capture'), { code: 'not-found' });
  problemOf(await ask('POST /transactions/9007199254740991/reverse'), { code: 'not-found' });
  problemOf(await ask(lookup, { json: { code: wrongCode() } }), throttled);
  for (const line of [
    'POST /holds/9007199254740991/capture', 'POST /holds/9007199254740991/void', 'POST /transactions/9007199254740991/reverse',
    'POST /holds/external:unused/void', 'POST /transactions/external:unused/reverse',
  ]) problemOf(await ask(line), { code: 'not-found' }); // prettier-ignore
  problemOf(await ask('POST /holds/9007199254740991/extend', { json: { expires_in: 60 } }), {
    code: 'not-found',
  });
  assert.equal((await ask(`POST /holds/${first.id}/extend`, { json: { expires_in: 900 } })).status, 200);
  assert.equal((await ask(`POST /holds/${first.id}/capture`)).status, 201);
  assert.equal((await ask(`POST /holds/${second.id}/void`)).status, 200);
  assert.equal((await ask(`POST /transactions/${spent.id}/reverse`)).status, 201);
  // The void has used up the id of a hold that arrives later.
  const late = await ask(`POST /gift_card/${id}/holds`, { json: { amount: '1.00', external_id: 'unused' } });
  problemOf(late, { code: 'external-id-used' });
});

test('generated codes in stock are activated while a budget is exhausted, and chosen ones are not', async () => {
  await using started = await opened({ LOOKUP_MISSES: '50' });
  const { service, shop } = started;
  const create = async (json: object): Promise<number> => {
    const created = await shop.ask('POST /stocks', { json });
    const { id } = (created.json as { readonly stock: { readonly id: number } }).stock;
    await until(async () => (await shop.ask(`GET /stocks/${id}`)).text.includes('"state":"complete"'));
    return id;
  };
  const id = await create({ count: 1, fixed_value: '25.00' });
  const listed = await service.request(`/stocks/${id}/codes`, { token: shop.token });
  const [generated = ''] = (listed.json as { readonly codes: readonly { readonly code: string }[] }).codes.map(({ code }) => code);
  await create({ codes: ['printed-0001'], fixed_value: '25.00' });
  await changeStoreElsewhere(service, domain, { lookupFailuresPerHour: 1 });
  await failLookups(asItself(shop), 1);
  const till = await shop.tokenFor('redeem_gift_cards');
  await failLookups((line, request) => shop.ask(line, { ...request, token: till }), 1);
  problemOf(await shop.ask(lookup, { json: { code: generated } }), { code: 'not-activated', errors: { code: ['is of a printed card that was not activated'] } });
  problemOf(await shop.ask(lookup, { json: { code: 'printed-0001' } }), throttled);
  // A caller who cannot activate the code gets the response for an unknown one.
  problemOf(await shop.ask(lookup, { json: { code: generated }, token: till }), throttled);
  problemOf(await shop.ask('POST /gift_card', { json: { initial_value: '25.00', code: 'printed-0001' } }), throttled);
  const dry = await shop.ask('POST /gift_card?dry_run=true', { json: { initial_value: '25.00', code: generated } });
  assert.equal(dry.status, 201);
  problemOf(await shop.ask('POST /gift_card', { json: { initial_value: '26.00', code: generated } }), { code: 'invalid-parameter' });
  const activated = await shop.ask('POST /gift_card', { json: { initial_value: '25.00', code: generated } });
  assert.equal(activated.status, 201);
  problemOf(await shop.ask('POST /gift_card', { json: { initial_value: '25.00', code: generated } }), { code: 'already-activated' });
}); // prettier-ignore

test('a rejection by a budget is not stored under its key, and a stored response is replayed', async () => {
  await using started = await opened({ LOOKUP_MISSES: '1' });
  const { service, shop } = started;
  const { code } = await shop.issue({ code: 'plastic-0006' });
  const send = (key: string, json: object) => shop.ask(redeem, { json, headers: { 'idempotency-key': key } });
  assert.equal((await send('first', { code, amount: '1.00' })).status, 201);
  const unknown = { code: wrongCode(), amount: '1.00' };
  problemOf(await send('unknown', unknown), { code: 'not-found' });
  const later = { code, amount: '2.00' };
  problemOf(await send('later', later), throttled);
  problemOf(await send('id', { code: wrongCode(), amount: '1.00' }), throttled);
  const replay = await send('first', { code, amount: '1.00' });
  assert.deepEqual([replay.status, replay.headers.get('idempotent-replayed')], [201, 'true']);
  assert.equal((await send('unknown', unknown)).headers.get('idempotent-replayed'), 'true');
  service.clock.advance(hourMs);
  const now = await send('later', later);
  assert.deepEqual([now.status, now.headers.get('idempotent-replayed')], [201, null]);
});

/** A response without what differs between any two: its id and its date. */
function comparable(response: TestResponse): string {
  const headers = [...response.headers].filter(([name]) => !['x-request-id', 'date'].includes(name));
  return JSON.stringify([response.status, headers, withoutRequestId(response)]);
}

const search = (last: string, email: string): string =>
  `GET /gift_card?last_characters=${last}&email=${encodeURIComponent(email)}`;

type Sought = { readonly code: string; readonly last: string; readonly email: string };

/** A request that guesses a chosen code or its last characters. */
const guess = fc.constantFrom<(sought: Sought) => readonly [line: string, json?: object]>(
  ({ code }) => [lookup, { code }],
  ({ code, email }) => [lookup, { code, email }],
  ({ code }) => [redeem, { code, amount: '1.00' }],
  ({ code }) => [redeem, { code, amount: '1.00', external_id: 'guess' }],
  ({ code }) => [redeem, { code, amount: '100000.00', partial: false }],
  ({ code }) => [`${redeem}?dry_run=true`, { code, amount: '1.00' }],
  ({ last, email }) => [search(last, email)],
  ({ code }) => ['POST /gift_card', { initial_value: 5, code }],
  ({ code }) => ['POST /gift_card?dry_run=true', { initial_value: 5, code }],
  ({ code }) => ['POST /gift_card', { initial_value: 5, code, external_id: 'guess' }],
  ({ code }) => ['POST /gift_card', { initial_value: 0, code }],
  ({ code }) => ['POST /gift_card', { initial_value: 5, code, stock: 'required' }],
  ({ code }) => ['POST /batches?dry_run=true', { cards: [{ initial_value: 5, code }] }],
  ({ code }) => ['POST /stocks?dry_run=true', { codes: [code], fixed_value: '5.00' }],
);

const seed = Number(process.env['VISITORS_SEED'] ?? Date.now() % 1_000_000_007);

test(`a response of an exhausted budget does not say whether a chosen code exists (VISITORS_SEED=${seed})`, async (t) => {
  for (const kind of ['token', 'visitor', 'visitors'] as const) {
    await t.test(`the budget of the ${kind}`, async () => {
      await using started = await opened({ LOOKUP_MISSES: '2', VISITOR_LOOKUP_MISSES: kind === 'visitors' ? '2' : '1' });
      const { service, shop } = started;
      const scopes = ['read_gift_cards', 'write_gift_cards', 'redeem_gift_cards'] as const;
      const [reader, till] = [await shopOf(service, domain, { scopes }), await shopOf(service, domain, { scopes: scopes.slice(1) })];
      const expiring = await shop.issue({ code: 'plastic-9001', recipient_email: grace });
      await shop.issue({ code: 'plastic-9002', recipient_email: grace });
      await shop.ask(`PUT /gift_card/${expiring.id}`, { json: { expires_on: '2020-01-01' } });
      await shop.ask('POST /stocks', { json: { codes: ['plastic-9003'], fixed_value: '5.00' } });
      const { id } = await shop.issue({ code: 'plastic-9004', recipient_email: grace });
      await shop.ask(`POST /gift_card/${id}/rotate_code`);
      const asks = [];
      for (const one of [reader, till]) {
        if (kind === 'visitors') await useUpVisitors(one, 1, 2);
        const guesser = kind === 'token' ? asItself(one) : asVisitor(one, 'guesser');
        if (kind !== 'visitors') await failLookups(guesser, kind === 'token' ? 2 : 1);
        // Wrong addresses count for a visitor, so each request has another one.
        asks.push((...request: Parameters<Shop['ask']>) =>
          (kind === 'visitors' ? asVisitor(one, `guesser-${wrongCode()}`) : guesser)(...request),
        );
      }
      const email = 'eve@example.com';
      const existing = fc.constantFrom('plastic-9001', 'plastic-9002', 'plastic-9003', 'plastic-9004');
      const step = fc.record({ request: guess, code: existing, ask: fc.constantFrom(...asks), isExistingFirst: fc.boolean() });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
          for (const { request, code, ask, isExistingFirst } of steps) {
            const send = async (sought: Sought): Promise<string> => {
              const [line, json] = request(sought);
              return comparable(await ask(line, json && { json }));
            };
            const unknown = wrongCode();
            const [known, other] = [{ code, last: code.slice(-4), email: grace }, { code: unknown, last: 'zzzz', email: grace }];
            const right = { ...known, email };
            const order = isExistingFirst ? [right, { ...other, email }] : [{ ...other, email }, right];
            const [one, two] = [await send(order[0] ?? right), await send(order[1] ?? right)];
            assert.equal(one, two);
            const [line] = request(known);
            const isSearch = line.startsWith('GET');
            // A caller without `read_gift_cards` cannot search.
            assert.match(one, isSearch ? /^\[(?:429|403)/ : /^\[429/);
            // With an address that has cards, a search is rejected as well.
            if (isSearch) assert.equal(await send(known), await send(other));
          }
        }),
        { numRuns: 40, seed },
      );
    });
  }
}); // prettier-ignore

test('lookups at the same time of many visitors end, and never fail more often than the budgets allow', async () => {
  await using started = await opened({ LOOKUP_MISSES: '12', VISITOR_LOOKUP_MISSES: '3' });
  const { service, shop } = started;
  const { code } = await shop.issue({ code: 'plastic-0007' });
  const responses = await Promise.all(
    Array.from({ length: 240 }, async (_, number) => {
      const visitor = `visitor-${number % 8}`;
      const isRight = number % 3 === 0;
      const response = await asVisitor(shop, visitor)(lookup, { json: { code: isRight ? code : wrongCode() } });
      return { visitor, isRight, status: response.status };
    }),
  );
  const failed = responses.filter(({ status }) => status === 404);
  assert.equal(failed.length, 12);
  for (const ofVisitor of Map.groupBy(failed, ({ visitor }) => visitor).values()) assert.ok(ofVisitor.length <= 3);
  for (const { isRight, status } of responses) assert.ok(isRight ? [200, 429].includes(status) : [404, 429].includes(status));
  const rows = await service.query('select caller from lookup_throttle');
  assert.ok(rows.length <= 9, String(rows.length));
  giftCardOf(await shop.ask(`GET /gift_card/${(await shop.issue()).id}`));
}); // prettier-ignore
