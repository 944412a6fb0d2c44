import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { isWithin } from '../support/deadline.ts';
import { revokeNewest } from '../support/second-process.ts';
import { problemOf } from '../support/responses.ts';
import { until } from '../support/delivering.ts';
import { startService, type TestResponse, type TestService } from '../support/service.ts';

const domain = 'flowers.example';

type EventView = {
  readonly id: number;
  readonly type: string;
  readonly sequence: number;
  readonly data: object;
};

function eventsOf({ json }: TestResponse): readonly EventView[] {
  return (json as { readonly events: readonly EventView[] }).events;
}

/** Waits for a page of this length: an event is published when no earlier transaction is open on the server. */
async function pageOf(
  service: TestService,
  token: string,
  path: string,
  length: number,
): Promise<TestResponse> {
  let response = await service.request(path, { token });
  await until(async () => {
    response = await service.request(path, { token });
    return eventsOf(response).length === length;
  });
  return response;
}

async function issue(service: TestService, token: string): Promise<void> {
  const response = await service.request('/gift_card', {
    method: 'POST',
    token,
    json: { initial_value: 15 },
  });
  assert.equal(response.status, 201);
}

type Followed = AsyncDisposable & {
  readonly status: number;
  readonly ids: readonly number[];
  readonly text: () => string;
  readonly hasEnded: () => boolean;
};

/** Opens an event stream. */
async function follow(
  service: TestService,
  token: string,
  { after, header }: { readonly after?: number | 'latest'; readonly header?: number } = {},
): Promise<Followed> {
  const controller = new AbortController();
  const query = after === undefined ? '' : `?after=${after}`;
  const response = await fetch(`${service.url}/events/stream${query}`, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(header !== undefined && { 'last-event-id': String(header) }),
    },
    signal: controller.signal,
  });
  let text = '';
  let hasEnded = false;
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true });
  })()
    .catch(() => undefined)
    .finally(() => {
      hasEnded = true;
    });
  return {
    status: response.status,
    get ids() {
      return [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    },
    text: () => text,
    hasEnded: () => hasEnded,
    async [Symbol.asyncDispose]() {
      controller.abort();
      await reading;
    },
  };
}

test('pages of events follow each other, and a later request continues from the last event', async () => {
  await using service = await startService({ stores: [{ domain }] });
  const token = await service.token(domain);
  assert.deepEqual((await service.request('/events', { token })).json, { events: [] });
  for (let count = 0; count < 5; count += 1) await issue(service, token);
  const first = await pageOf(service, token, '/events?limit=3', 3);
  assert.equal(first.headers.get('cache-control'), 'no-store');
  const [, next = ''] = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '') ?? [];
  const second = await pageOf(service, token, next, 2);
  assert.deepEqual([eventsOf(first).length, eventsOf(second).length], [3, 2]);
  const [, end = ''] = /<([^>]+)>; rel="next"/.exec(second.headers.get('link') ?? '') ?? [];
  assert.deepEqual(eventsOf(await service.request(end, { token })), []);
  await issue(service, token);
  const [last] = eventsOf(await pageOf(service, token, end, 1));
  assert.equal(last?.type, 'gift_card.created');
  assert.deepEqual((await service.request(`/events/${last.id}`, { token })).json, { event: last });
  problemOf(await service.request('/events/5', { token }), { code: 'not-found' });
  problemOf(await service.request('/events?after=5', { token }), {
    code: 'invalid-query',
    errors: { after: ['must be the id of an event'] },
  });
});

function nextOf({ headers }: TestResponse): string {
  const [, next] = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
  assert.ok(next, 'there is no link to the next page');
  return next;
}

test('after=latest starts at the end: its link returns later events only', async () => {
  await using service = await startService({ stores: [{ domain }, { domain: 'books.example' }] });
  const [token, books] = [await service.token(domain), await service.token('books.example')];
  // Without events, every later event is new.
  for (const path of ['/events?after=latest', '/events?after=latest&limit=2', '/events']) {
    const empty = await service.request(path, { token });
    assert.equal(empty.status, 200);
    assert.deepEqual(eventsOf(empty), []);
    assert.deepEqual(eventsOf(await service.request(nextOf(empty), { token })), []);
  }
  const start = nextOf(await service.request('/events?after=latest&limit=2', { token }));
  assert.equal(start, '/events?limit=2');
  await issue(service, books);
  for (let count = 0; count < 3; count += 1) await issue(service, token);
  const ids = eventsOf(await pageOf(service, token, '/events', 3)).map(({ id }) => id);
  const first = await service.request(start, { token });
  const second = await service.request(nextOf(first), { token });
  assert.deepEqual(
    [...eventsOf(first), ...eventsOf(second)].map(({ id }) => id),
    ids,
  );

  const latest = await service.request('/events?after=latest', { token });
  assert.deepEqual(eventsOf(latest), []);
  assert.equal(nextOf(latest), `/events?limit=50&after=${ids.at(-1)}`);
  await issue(service, token);
  const [only, ...others] = eventsOf(await pageOf(service, token, nextOf(latest), 1));
  assert.ok(only && !ids.includes(only.id));
  assert.deepEqual(others, []);

  for (const wrong of ['newest', 'Latest', '0', '-1', '1.5', '']) {
    for (const path of ['/events', '/events/stream']) {
      problemOf(await service.request(`${path}?after=${wrong}`, { token }), {
        code: 'invalid-query',
        errors: { after: ['must be the id of an event, or latest'] },
      });
    }
  }
});

test('a stream with after=latest sends later events only, in a store without events too', async () => {
  await using service = await startService({ stores: [{ domain }, { domain: 'books.example' }] });
  for (const [name, before] of [
    [domain, 1],
    ['books.example', 0],
  ] as const) {
    const token = await service.token(name);
    for (let count = 0; count < before; count += 1) await issue(service, token);
    await pageOf(service, token, '/events', before);
    await using stream = await follow(service, token, { after: 'latest' });
    assert.equal(stream.status, 200);
    await wait(100);
    assert.deepEqual(stream.ids, []);
    await issue(service, token);
    await until(() => stream.ids.length === 1);
    const all = eventsOf(await pageOf(service, token, '/events', before + 1));
    assert.deepEqual(stream.ids, [all.at(-1)?.id]);
  }
});

test('a stream sends new events, and continues from the last event after a reconnection', async () => {
  await using service = await startService({ stores: [{ domain }] });
  const token = await service.token(domain);
  await issue(service, token);
  const all = async (length: number): Promise<number[]> =>
    eventsOf(await pageOf(service, token, '/events?limit=250', length)).map(({ id }) => id);
  await all(1);
  {
    await using stream = await follow(service, token);
    assert.equal(stream.status, 200);
    await wait(100);
    assert.deepEqual(stream.ids, []);
    for (let count = 0; count < 3; count += 1) await issue(service, token);
    await until(() => stream.ids.length === 3);
    assert.deepEqual(stream.ids, (await all(4)).slice(1));
    assert.match(
      stream.text(),
      /^retry: \d+\n\nid: \d+\nevent: gift_card\.created\ndata: \{"id":\d+,.*\}\n\n/,
    );
  }
  for (let count = 0; count < 3; count += 1) await issue(service, token);
  const ids = await all(7);
  {
    await using stream = await follow(service, token, { header: ids[3] ?? 0 });
    await until(() => stream.ids.length === 3);
    assert.deepEqual(stream.ids, ids.slice(4));
  }
  await using stream = await follow(service, token, { after: ids[0] ?? 0 });
  await until(() => stream.ids.length === 6);
  assert.deepEqual(stream.ids, ids.slice(1));
  const wrong = await follow(service, token, { header: 5 });
  assert.equal(wrong.status, 400);
  await wrong[Symbol.asyncDispose]();
  assert.equal((await service.request('/events/stream', { method: 'HEAD', token })).status, 200);
});

test('a stream that is interrupted and resumed repeatedly has no gaps during concurrent writes', async () => {
  await using service = await startService({ stores: [{ domain }] });
  const token = await service.token(domain);
  await issue(service, token);
  const [{ id: first } = { id: 0 }] = eventsOf(await pageOf(service, token, '/events', 1));
  let isWriting = true;
  const writing = Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let count = 0; count < 40; count += 1) await issue(service, token);
    }),
  ).finally(() => {
    isWriting = false;
  });
  const seen = [first];
  while (isWriting || seen.length < 161) {
    await using stream = await follow(service, token, { header: seen.at(-1) ?? 0 });
    await wait(60);
    // The next stream sends the events again that were in flight at the interruption.
    seen.push(...stream.ids);
  }
  await writing;
  const ids = eventsOf(await pageOf(service, token, '/events?limit=250', 161)).map(({ id }) => id);
  assert.deepEqual(seen, ids);
});

test('a stream ends within about a second of the revocation of its token, and at once when the service stops', async () => {
  const service = await startService({ stores: [{ domain }] });
  const staying = await service.token(domain);
  const token = await service.token(domain);
  await using stream = await follow(service, token);
  await using other = await follow(service, staying);
  await revokeNewest(service, domain);
  await issue(service, staying);
  await until(() => stream.hasEnded());
  assert.deepEqual(stream.ids, []);
  assert.equal(other.hasEnded(), false);
  const startedAt = performance.now();
  await service[Symbol.asyncDispose]();
  await until(() => other.hasEnded());
  assert.ok(isWithin(performance.now() - startedAt, 2_000));
});

test('a token and a store have a limit of streams, and closing one allows another', async () => {
  await using service = await startService({ stores: [{ domain }] });
  const [token, second, third] = [
    await service.token(domain),
    await service.token(domain),
    await service.token(domain),
  ];
  const streams: Followed[] = [];
  for (let count = 0; count < 8; count += 1) streams.push(await follow(service, token));
  problemOf(await service.request('/events/stream', { token }), { code: 'overloaded' });
  for (let count = 0; count < 8; count += 1) streams.push(await follow(service, second));
  problemOf(await service.request('/events/stream', { token: third }), { code: 'overloaded' });
  assert.ok(streams.every(({ status }) => status === 200));
  await streams.pop()?.[Symbol.asyncDispose]();
  await until(async () => {
    await using one = await follow(service, third);
    return one.status === 200;
  });
  for (const stream of streams) await stream[Symbol.asyncDispose]();
});
