/** The client library against scripted responses: attempts, pauses, limits, errors, and what it sends. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { generatedFiles } from '../../packaging/client/generate.ts';
import {
  ApiError,
  ConnectionError,
  LargesseError,
  addAmounts,
  createClient,
  responseOf,
  smallerAmount,
  subtractAmounts,
  type ClientOptions,
  type Largesse,
} from '../../packages/client/src/index.ts';

type Sent = {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: unknown;
};

/** A response, or an error of the connection. */
type Step = Response | Error | ((signal: AbortSignal) => Promise<Response>);

const card = { gift_card: { id: 1, balance: '1.00' } };

function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json(value, { status, headers });
}

function problem(status: number, code: string, headers: Readonly<Record<string, string>> = {}): Response {
  const body = {
    type: `/docs/problems/${code}`,
    title: 'T',
    status,
    detail: 'D.',
    errors: 'T',
    request_id: 'r',
  };
  return json(body, status, { 'content-type': 'application/problem+json', 'x-request-id': 'r', ...headers });
}

/** A client whose requests get these responses, one after the other, and what it has sent. */
function scripted(
  steps: readonly Step[],
  options: Partial<ClientOptions> = {},
): { readonly client: Largesse; readonly sent: Sent[] } {
  const sent: Sent[] = [];
  const client = createClient({
    url: 'https://cards.example/base/',
    token: 'lgs_secret',
    retry: { pauseMs: 1 },
    ...options,
    fetch: (async (url: string, init: RequestInit) => {
      const { method = '', headers, body, signal } = init;
      assert.equal(init.redirect, 'manual');
      sent.push({ url, method, headers: headers as Headers, body: body ?? null });
      const step = steps[sent.length - 1] ?? assert.fail('an unexpected request');
      if (step instanceof Error) throw step;
      return typeof step === 'function' ? step(signal ?? new AbortController().signal) : step;
    }) as typeof fetch,
  });
  return { client, sent };
}

test('the generated files are what the generator makes of the document', async () => {
  for (const [path, text] of await generatedFiles())
    assert.equal(readFileSync(path, 'utf8'), text, `${path}: run npm run client:generate`);
});

test('a request has the token in one header only, and the JSON of its body', async () => {
  const { client, sent } = scripted([json(card, 201)]);
  await client.cards.debit(5, { amount: '1.00' }, { requestId: 'a', ifMatch: '"v"', dryRun: true });
  const [request] = sent;
  assert.equal(request?.url, 'https://cards.example/base/gift_card/5/debit?dry_run=true');
  assert.equal(request.method, 'POST');
  assert.equal(request.body, '{"amount":"1.00"}');
  const { 'idempotency-key': key, ...headers } = Object.fromEntries(request.headers);
  assert.match(key ?? '', /^[0-9a-f-]{36}$/);
  assert.deepEqual(headers, {
    authorization: 'Bearer lgs_secret',
    'content-type': 'application/json',
    'if-match': '"v"',
    'x-request-id': 'a',
  });
});

test('a request names its visitor, that of the client by default, and a malformed one sends nothing', async () => {
  const { client, sent } = scripted([json({ gift_card: {} }), json({ gift_card: {} }), json({ gift_card: {} })], {
    visitor: 'v-client',
  });
  await client.cards.lookup({ code: 'q2m8xk4w9c0d7f3k', email: 'ada@example.com' });
  await client.cards.retrieve(5, { visitor: 'v-1' });
  await client.cards.retrieve(5, { visitor: null });
  assert.deepEqual(sent.map(({ headers }) => headers.get('largesse-visitor')), ['v-client', 'v-1', null]);
  for (const visitor of ['', 'a b', 'v'.repeat(129), 'caf\u00e9'])
    await assert.rejects(client.cards.retrieve(5, { visitor }), (error: unknown) => {
      const { message } = error as Error;
      return error instanceof Error && message.includes('visitor must have') && (visitor === '' || !message.includes(visitor));
    });
}); // prettier-ignore

test('ids are encoded in paths, and cannot lead to another path', async () => {
  const { client, sent } = scripted([json({ hold: {} })]);
  await client.holds.retrieve('external:a/../b?c');
  assert.equal(sent[0]?.url, 'https://cards.example/base/holds/external%3Aa%2F..%2Fb%3Fc');
  for (const id of ['', '.', '..', undefined, null, {}])
    assert.throws(() => client.holds.retrieve(id as never), TypeError);
});

test('a write is repeated with the same key and body until it succeeds', async () => {
  const failures: readonly Step[] = [
    new TypeError('fetch failed'),
    problem(500, 'internal-error'),
    json('<html>', 502),
    problem(409, 'idempotency-key-in-use', { 'retry-after': '0' }),
    problem(429, 'too-many-requests', { 'retry-after': '0' }),
  ];
  const { client, sent } = scripted([...failures, json(card, 201, { 'idempotent-replayed': 'true' })]);
  const result = await client.cards.redeem({ code: 'abcd', amount: '1.00' });
  assert.equal(responseOf(result).isReplayed, true);
  assert.equal(sent.length, 6);
  assert.equal(new Set(sent.map(({ headers }) => headers.get('idempotency-key'))).size, 1);
  assert.equal(new Set(sent.map(({ body }) => body)).size, 1);
});

test('each write has a key of its own, unless the caller sets it, and a read has none', async () => {
  const { client, sent } = scripted(Array.from({ length: 4 }, () => json(card)));
  await client.cards.debit(1, { amount: '1' });
  await client.cards.debit(1, { amount: '1' });
  await client.cards.debit(1, { amount: '1' }, { idempotencyKey: 'mine' });
  await client.cards.lookup({ code: 'x' });
  const keys = sent.map(({ headers }) => headers.get('idempotency-key'));
  assert.notEqual(keys[0], keys[1]);
  assert.deepEqual(keys.slice(2), ['mine', null]);
  await assert.rejects(client.cards.debit(1, { amount: '1' }, { idempotencyKey: 'a\nb' }), TypeError);
  assert.equal(sent.length, 4);
});

test('a rejection is not repeated, and says everything that the response says', async () => {
  const fields = { amount: ['must be greater than 0', 'must be a string'], code: ['is missing'] };
  const body = { type: '/docs/problems/invalid-parameter', title: 'T', status: 422, detail: 'D.', errors: fields, request_id: 'r-1', available: '2.00' };
  const headers = { 'content-type': 'application/problem+json', 'x-request-id': 'r-1' };
  const { client, sent } = scripted([json(body, 422, headers)]);
  await assert.rejects(client.cards.redeem({ code: 'secretcode', amount: '0' }, { idempotencyKey: 'k' }), (error) => {
    assert.ok(error instanceof ApiError && error instanceof LargesseError);
    const { status, code, requestId, attempts, idempotencyKey, problem: whole, retryAfterMs } = error;
    assert.deepEqual(
      { status, code, requestId, attempts, idempotencyKey, retryAfterMs },
      { status: 422, code: 'invalid-parameter', requestId: 'r-1', attempts: 1, idempotencyKey: 'k', retryAfterMs: undefined },
    );
    assert.deepEqual(error.fields, fields);
    assert.equal(whole?.available, '2.00');
    assert.equal(
      error.message,
      'POST /gift_card/redeem: 422 invalid-parameter (amount must be greater than 0, must be a string; code is missing)',
    );
    return true;
  });
  assert.equal(sent.length, 1);
}); // prettier-ignore

test('statuses that another attempt does not change are not repeated', async () => {
  for (const response of [
    problem(400, 'invalid-query'), problem(401, 'unauthenticated'), problem(403, 'insufficient-scope'),
    problem(404, 'not-found'), problem(410, 'events-erased'), problem(412, 'precondition-failed'),
    problem(422, 'idempotency-key-reused'), json({}, 409), json('<html>', 404),
    new Response(null, { status: 302, headers: { location: 'https://elsewhere.example/' } }),
  ]) {
    const { client, sent } = scripted([response]);
    await assert.rejects(client.holds.void('external:order-7'), { status: response.status, attempts: 1 });
    assert.equal(sent.length, 1);
  }
}); // prettier-ignore

test('an error names the path of the documentation, without the external id or the token', async () => {
  const { client } = scripted([problem(404, 'not-found')]);
  await assert.rejects(client.holds.void('external:order-7'), (error) => {
    assert.ok(error instanceof ApiError);
    assert.equal(error.message, 'POST /holds/{hold_id}/void: 404 not-found (D.)');
    assert.doesNotMatch(JSON.stringify(error) + error.stack, /order-7|lgs_secret/);
    return true;
  });
  assert.throws(() => createClient({ url: 'https://cards.example', token: 'lgs_ü' }), (error) => {
    assert.ok(error instanceof TypeError);
    assert.doesNotMatch(error.message, /lgs_/);
    return true;
  }); // prettier-ignore
});

test('the attempts, and their time, have limits', async () => {
  const failing = (count: number): Step[] => Array.from({ length: count }, () => problem(503, 'unavailable'));
  const few = scripted(failing(3), { retry: { pauseMs: 1, attemptsMax: 3 } });
  await assert.rejects(few.client.cards.retrieve(1), { status: 503, attempts: 3 });
  const single = scripted(failing(1), { retry: { attemptsMax: 1 } });
  await assert.rejects(single.client.cards.retrieve(1), { attempts: 1 });
  // The service asks for more time than there is: the error comes at once, with the time.
  const late = scripted([problem(429, 'too-many-misses', { 'retry-after': '3600' })]);
  await assert.rejects(late.client.cards.lookup({ code: 'x' }), {
    code: 'too-many-misses',
    retryAfterMs: 3_600_000,
  });
  const short = scripted(failing(9), { retry: { pauseMs: 40, totalMs: 50 } });
  await assert.rejects(
    short.client.cards.retrieve(1),
    ({ attempts }: ApiError) => attempts >= 1 && attempts <= 3,
  );
  const silent = scripted([new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })], {
    retry: { attemptsMax: 1 },
  });
  await assert.rejects(silent.client.cards.debit(1, { amount: '1' }, { idempotencyKey: 'k' }), (error) => {
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.message, 'POST /gift_card/{gift_card_id}/debit: fetch failed (connect ECONNREFUSED)');
    assert.equal(error.idempotencyKey, 'k');
    return true;
  });
});

test('the pauses double with jitter, and are at least as long as the service asks for', async () => {
  const pausesOf = async (steps: readonly Step[]): Promise<readonly number[]> => {
    const times: number[] = [];
    const timed = steps.map((step) => async () => {
      times.push(performance.now());
      if (step instanceof Error) throw step;
      return step as Response;
    });
    await scripted(timed, { retry: { pauseMs: 40 } }).client.cards.retrieve(1);
    return times.slice(1).map((time, index) => time - (times[index] ?? 0));
  };
  const [first = 0, second = 0, third = 0] = await pausesOf([
    new TypeError('x'), problem(500, 'internal-error'), problem(503, 'overloaded'), json(card),
  ]); // prettier-ignore
  // A timer can be a millisecond early, and late on a busy machine.
  assert.ok(first >= 19 && second >= 39 && third >= 79, `${first} ${second} ${third}`);
  const asked = { 'retry-after': '1' };
  const [pause = 0] = await pausesOf([problem(429, 'too-many-requests', asked), json(card)]);
  assert.ok(pause >= 990, String(pause));
  const date = { 'retry-after': new Date(Date.now() + 60_000).toUTCString() };
  const { client } = scripted([problem(503, 'closing', date)], { retry: { attemptsMax: 1 } });
  await assert.rejects(
    client.cards.retrieve(1),
    ({ retryAfterMs = 0 }: ApiError) => retryAfterMs > 50_000 && retryAfterMs <= 60_000,
  );
});

test('an attempt without a response ends after its time, and is repeated', async () => {
  const never = (signal: AbortSignal): Promise<Response> =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  /** Sends its headers, and then nothing. */
  const halfway = async (signal: AbortSignal): Promise<Response> =>
    new Response(
      new ReadableStream({
        start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason)),
      }),
    );
  const { client, sent } = scripted([never, halfway, json(card)], { timeoutMs: 20 });
  assert.deepEqual(await client.cards.retrieve(1), card);
  assert.equal(sent.length, 3);
});

test('a signal ends a request, a pause and a list with its reason', async () => {
  const reason = new Error('the customer left');
  const aborted = AbortSignal.abort(reason);
  const none = scripted([]);
  await assert.rejects(none.client.cards.retrieve(1, { signal: aborted }), reason);
  assert.equal(none.sent.length, 0);

  const open = new AbortController();
  const waiting = scripted([
    (signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
        open.abort(reason);
      }),
  ]);
  await assert.rejects(waiting.client.cards.retrieve(1, { signal: open.signal }), reason);
  assert.equal(waiting.sent.length, 1);

  const paused = new AbortController();
  const later = scripted([problem(503, 'unavailable', { 'retry-after': '60' })]);
  setTimeout(() => paused.abort(reason), 20);
  await assert.rejects(later.client.cards.retrieve(1, { signal: paused.signal }), reason);
});

test('a response that is too long is rejected at once', async () => {
  const { client, sent } = scripted([json({ gift_card: 'x'.repeat(100) })], { responseBytesMax: 64 });
  await assert.rejects(client.cards.retrieve(1), /more than 64 bytes/);
  assert.equal(sent.length, 1);
});

test('a list follows the links of its pages, and requests a page only when it is needed', async () => {
  const page = (ids: readonly number[], next?: string): Response =>
    json(
      { gift_cards: ids.map((id) => ({ id })), next_cursor: null },
      200,
      next === undefined ? {} : { link: `<${next}>; rel="next", </x?y=1>; rel="previous"` },
    );
  const pages = (): Step[] => [
    page([1, 2], 'https://elsewhere.example/base/gift_cards?state=active&cursor=a%2Bb'),
    // A filter can leave nothing of a page that is not the last.
    page([], '/base/gift_cards?state=active&cursor=c'),
    page([3]),
  ];
  const { client, sent } = scripted(pages());
  const ids: number[] = [];
  for await (const one of client.cards.list({ state: 'active', limit: undefined })) ids.push(one.id);
  assert.deepEqual(ids, [1, 2, 3]);
  assert.deepEqual(
    sent.map(({ url }) => url.replace('https://cards.example/base/gift_cards', '')),
    ['?state=active', '?state=active&cursor=a%2Bb', '?state=active&cursor=c'],
  );

  const early = scripted(pages());
  for await (const one of early.client.cards.list()) if (one.id === 2) break;
  assert.equal(early.sent.length, 1);
  const whole = scripted(pages());
  const counts: number[] = [];
  for await (const one of whole.client.cards.list().pages()) counts.push(one.gift_cards.length);
  assert.deepEqual(counts, [2, 0, 1]);
  const first = scripted(pages());
  assert.equal((await first.client.cards.list()).gift_cards.length, 2);
  assert.equal(first.sent.length, 1);
});

test('an error of a list reaches its reader once', async () => {
  const unhandled: unknown[] = [];
  const record = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', record);
  const { client } = scripted([problem(403, 'insufficient-scope'), problem(403, 'insufficient-scope')]);
  await assert.rejects(async () => {
    for await (const one of client.cards.list()) assert.fail(`a card ${one.id}`);
  }, ApiError);
  await assert.rejects(client.cards.list(), ApiError);
  await wait(10);
  process.off('unhandledRejection', record);
  assert.deepEqual(unhandled, []);
});

test('the URL of the service is checked', () => {
  for (const url of ['cards.example', 'ftp://cards.example', 'https://u:p@cards.example', 'https://cards.example/?a', 'https://cards.example/#a'])
    assert.throws(() => createClient({ url }), TypeError, url);
  assert.throws(() => responseOf({}), TypeError);
}); // prettier-ignore

test('amounts are added exactly', () => {
  for (const [sum, ...amounts] of [
    ['0'], ['0.30', '0.10', '0.20'], ['-2.50', '10.00', '-12.50'], ['0.000', '1.5', '-1.500'], ['1500', '1000', '500'],
    ['9007199254740993.01', '9007199254740992.01', '1'], ['-0.05', '0.05', '-0.10'],
  ] as const)
    assert.equal(addAmounts(...amounts), sum);
  assert.equal(subtractAmounts('5.00', '-1.25'), '6.25');
  assert.equal(smallerAmount('9.99', '10.00'), '9.99');
  assert.equal(smallerAmount('10.00', '9.99'), '9.99');
  for (const text of ['', '1e3', '+5', ' 5', '1,00', '.5', '5.', '--1', 'NaN', '1'.repeat(31)])
    assert.throws(() => addAmounts(text), TypeError, text);
  const cents = fc.bigInt({ min: -(10n ** 14n), max: 10n ** 14n });
  const textOf = (value: bigint): string => {
    const digits = String(value < 0n ? -value : value).padStart(3, '0');
    return `${value < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
  };
  fc.assert(
    fc.property(fc.array(cents, { minLength: 1 }), (values) => {
      assert.equal(addAmounts(...values.map(textOf)), textOf(values.reduce((total, value) => total + value, 0n)));
    }),
  );
}); // prettier-ignore
