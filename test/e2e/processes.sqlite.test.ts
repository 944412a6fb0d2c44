/** Several processes that serve on one port, and the one that supervises them: `serve --processes`. */

import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import test, { after } from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { submitForm } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { send, type TestRequest, type TestResponse } from '../support/http-client.ts';
import { freePort, takesConnections } from '../support/postgres-port.ts';
import type { Exit, Program } from '../support/programs.ts';
import { childrenOf, runningOf } from '../support/running-processes.ts';
import { makeHome, type GiftCard, type Home } from './largesse.ts';

const command = ['serve', '--processes', '2'];
const connectionCount = 8;
const domain = 'flowers.example';

type Supervised = {
  readonly url: string;
  readonly port: number;
  readonly program: Program;
  /** The ids of the processes that serve. */
  readonly processes: () => Promise<readonly number[]>;
};

/** Starts two processes and waits until the first one serves. */
async function startTwo(home: Home): Promise<Supervised> {
  const program = home.start(command);
  const [, url = ''] = await program.written(/"url":"([^"]+)".*"message":"largesse serves"/);
  assert.doesNotMatch(program.output(), /no such setting/);
  return { url, port: Number(new URL(url).port), program, processes: () => childrenOf(program.pid) };
}

/** The number of starts that are in the log. */
function startsOf({ program }: Supervised): number {
  return program.output().match(/"message":"largesse serves"/g)?.length ?? 0;
}

/** Waits until this many processes have started and none of them is missing. */
async function untilServing(supervised: Supervised, starts: number, count = 2): Promise<readonly number[]> {
  await until(() => startsOf(supervised) === starts);
  const processes = await supervised.processes();
  assert.equal(processes.length, count);
  return processes;
}

/** Asserts that the service has ended, and nothing of it is left. */
async function assertEnded(
  { program, port }: Supervised,
  processes: readonly number[],
  exit: Exit = { code: 0, signal: null },
): Promise<void> {
  assert.deepEqual(await program.ended(), exit);
  await until(async () => (await runningOf(processes)).length === 0);
  assert.equal(await takesConnections(port), false);
}

/** A connection, which one process serves. */
type Connection = Disposable & {
  readonly ask: (path: string, request?: TestRequest) => Promise<TestResponse>;
  /** Whether the service has closed it. */
  readonly isClosed: () => boolean;
};

function openConnection(url: string): Connection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    ask: (path, request) => send(`${url}${path}`, { ...request, agent }),
    isClosed: () => Object.keys(agent.freeSockets).length === 0,
    [Symbol.dispose]: () => agent.destroy(),
  };
}

type Connections = Disposable & { readonly each: readonly Connection[] };

/** Opens connections one after another, so that each process has the same number of them. */
async function openConnections(url: string): Promise<Connections> {
  const each = Array.from({ length: connectionCount }, () => openConnection(url));
  for (const { ask } of each) assert.equal((await ask('/readyz')).status, 200);
  return {
    each,
    [Symbol.dispose]() {
      for (const connection of each) connection[Symbol.dispose]();
    },
  };
}

function cardIn({ status, json, text }: TestResponse, expected: number): GiftCard {
  assert.equal(status, expected, text);
  return (json as { readonly gift_card: GiftCard }).gift_card;
}

type Token = { readonly id: number; readonly token: string };

const issued = (token: string, key?: string): TestRequest => ({
  method: 'POST',
  token,
  json: { initial_value: '25.00' },
  ...(key !== undefined && { headers: { 'idempotency-key': key } }),
});

/** Sets up a shop on its pages. Its owner is signed in. */
async function setUp(home: Home, url: string): Promise<Browser> {
  const browser = openBrowser({ url, request: (path, request) => send(`${url}${path}`, request) });
  const { link } = await home.json<{ readonly link: string }>('setup', 'link');
  const form = {
    shop: 'Flowers',
    currency: 'EUR',
    time_zone: 'Europe/Paris',
    locale: 'en',
    limit: '',
    domain,
    name: 'Ada',
    email: 'ada@example.com',
    password: 'correct horse battery',
  };
  const done = await browser.post(`${new URL(link).pathname}/owner`, form);
  assert.equal(done.status, 303, done.text);
  return browser;
}

const home = await makeHome();
after(() => home[Symbol.asyncDispose]());
const service = await startTwo(home);
let owner: Browser;
const newToken = (name: string): Promise<Token> =>
  home.json('token', 'create', '--store', domain, '--name', name);

test('one process serves a new database, and two once an owner has set up a shop', async () => {
  assert.equal((await service.processes()).length, 1);
  const demonstration = { method: 'POST', json: { initial_value: 5 } };
  cardIn(await send(`${service.url}/gift_card`, demonstration), 201);
  assert.equal((await service.processes()).length, 1, 'a card of the demonstration store');
  owner = await setUp(home, service.url);
  await untilServing(service, 2);
  assert.equal((await send(`${service.url}/gift_card`, demonstration)).status, 401);
});

test('a card that one process creates is known to the others at once, and a key is used once', async () => {
  const { token } = await newToken('till');
  using connections = await openConnections(service.url);
  for (const { ask } of connections.each) {
    const { id } = cardIn(await ask('/gift_card', issued(token)), 201);
    const found = await Promise.all(
      connections.each.map((other) => other.ask(`/gift_card/${id}`, { token })),
    );
    for (const response of found) assert.equal(cardIn(response, 200).balance, '25.00');
    const used = await ask(`/gift_card/${id}/debit`, { method: 'POST', token, json: { amount: '5.00' } });
    assert.equal(used.status, 201, used.text);
    for (const other of connections.each)
      assert.equal(cardIn(await other.ask(`/gift_card/${id}`, { token }), 200).balance, '20.00');
  }
  for (let round = 0; round < 10; round += 1) {
    const request = issued(token, `order-${round}`);
    const cards = await Promise.all(
      connections.each.map(async ({ ask }) => {
        let response = await ask('/gift_card', request);
        // The first request with the key is in progress.
        while (response.status === 409) response = await ask('/gift_card', request);
        return cardIn(response, 201);
      }),
    );
    assert.equal(new Set(cards.map(({ id }) => id)).size, 1);
  }
  const [row] = await home.database.query("select count(*) as count from transfers where kind = 'issue'");
  assert.equal(Number(row?.['count']), 1 + connectionCount + 10, 'the demonstration store has one');
});

test('every process rejects a token from the next request on after it was revoked', async () => {
  using connections = await openConnections(service.url);
  const statuses = (token: string): Promise<readonly number[]> =>
    Promise.all(connections.each.map(async ({ ask }) => (await ask('/gift_cards', { token })).status));
  const all = (status: number): readonly number[] => connections.each.map(() => status);

  const first = await newToken('first');
  assert.deepEqual(await statuses(first.token), all(200));
  await home.json('token', 'revoke', '--store', domain, String(first.id));
  assert.deepEqual(await statuses(first.token), all(401), 'a command has revoked it');

  const second = await newToken('second');
  assert.deepEqual(await statuses(second.token), all(200));
  const [path] =
    /\/developers\/tokens\/\d+\/revoke/.exec((await owner.get('/developers')).text) ?? assert.fail();
  const revoked = await submitForm(owner, path, {});
  assert.equal(revoked.status, 303, revoked.text);
  assert.deepEqual(await statuses(second.token), all(401), 'a process has revoked it');
});

test('a stream of events has the changes that each process makes', async () => {
  const { token } = await newToken('stream');
  using connections = await openConnections(service.url);
  const over = new AbortController();
  const response = await fetch(`${service.url}/events/stream?after=latest`, {
    headers: { authorization: `Bearer ${token}` },
    signal: over.signal,
  });
  assert.equal(response.status, 200);
  let text = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true });
  })().catch(() => undefined);
  for (const { ask } of connections.each) {
    const { id } = cardIn(await ask('/gift_card', issued(token)), 201);
    await until(() => text.includes(String(id)));
  }
  over.abort();
  await reading;
  assert.equal(text.match(/^event: gift_card.created$/gm)?.length, connectionCount, text);
});

/** The samples in a text of metrics. @throws if a line is neither a comment nor a sample. */
function samplesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('# '));
  return new Map(
    lines.map((line) => {
      const sample =
        /^(\w+(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?) (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|Na[nN])$/;
      const [, name = '', value = ''] = sample.exec(line) ?? assert.fail(line);
      return [name, Number(value)];
    }),
  );
}

test('the metrics are those of all processes', async () => {
  const { token } = await newToken('metrics');
  using connections = await openConnections(service.url);
  const read = async ({ ask }: Pick<Connection, 'ask'>): Promise<ReadonlyMap<string, number>> => {
    const { status, text } = await ask('/metrics');
    assert.equal(status, 200, text);
    return samplesOf(text);
  };
  const createdBy = (samples: ReadonlyMap<string, number>): readonly number[] =>
    [1, 2].map((number) => {
      const name =
        /^http_server_request_duration_seconds_count\{.*http_route="\/gift_card".*status_code="201"/;
      const own = [...samples].filter(([each]) => name.test(each) && each.includes(`process="${number}"`));
      return own.reduce((sum, [, count]) => sum + count, 0);
    });
  const [first = assert.fail()] = connections.each;
  const before = createdBy(await read(first));
  for (const { ask } of connections.each) cardIn(await ask('/gift_card', issued(token)), 201);
  const half = connectionCount / 2;
  // Each connection reads the same.
  for (const samples of await Promise.all(connections.each.map(read))) {
    assert.deepEqual(
      createdBy(samples),
      before.map((count) => count + half),
    );
    for (const number of [1, 2]) {
      assert.equal(samples.get(`largesse_ready{process="${number}"}`), 1);
      assert.equal(samples.get(`largesse_processes{process="${number}"}`), 2);
      assert.ok((samples.get(`process_start_time_seconds{process="${number}"}`) ?? 0) > 0);
    }
  }
});

test('a process that is killed is started again, and the other one serves', async () => {
  const { token } = await newToken('killed');
  using connections = await openConnections(service.url);
  const [killed = 0] = await untilServing(service, 2);
  process.kill(killed, 'SIGKILL');
  await service.program.written(
    new RegExp(
      `"level":"error".*"pid":${killed}.*"signal":"SIGKILL".*"a process ended, and is started again"`,
    ),
  );
  const closed = connections.each.filter(({ isClosed }) => isClosed());
  assert.equal(closed.length, connectionCount / 2, 'each process had half of the connections');
  for (const { ask } of connections.each) cardIn(await ask('/gift_card', issued(token)), 201);
  const processes = await untilServing(service, 3);
  assert.ok(!processes.includes(killed));
  using later = await openConnections(service.url);
  for (const { ask } of later.each) cardIn(await ask('/gift_card', issued(token)), 201);
  const { code, errors } = await home.run(['verify']);
  assert.equal(code, 0, errors);
});

test('the service ends with the process that supervises', async () => {
  const processes = await untilServing(service, 3);
  service.program.kill('SIGTERM');
  await assertEnded(service, processes);
  assert.equal(service.program.output().match(/"message":"stopped"/g)?.length, 2);
});

test('the other process starts when a command creates a store, and Ctrl+C ends all of them', async () => {
  await using fresh = await makeHome();
  const started = await startTwo(fresh);
  await untilServing(started, 1, 1);
  await fresh.json('store', 'create', domain, '--currency', 'EUR');
  const processes = await untilServing(started, 2);
  // A terminal sends the signal to each of them.
  for (const pid of [started.program.pid, ...processes]) process.kill(pid, 'SIGINT');
  await assertEnded(started, processes);
  assert.doesNotMatch(started.program.output(), /"level":"error"/);

  const again = await startTwo(fresh);
  const others = await untilServing(again, 2);
  again.program.kill('SIGKILL');
  await assertEnded(again, others, { code: null, signal: 'SIGKILL' });
  const { code, errors } = await fresh.run(['verify']);
  assert.equal(code, 0, errors);
});

test('a start that fails ends the service with one message', async () => {
  await using fresh = await makeHome();
  const wrong = await fresh.runProcess(command, { LOG_LEVEL: 'loud' });
  assert.equal(wrong.code, 2, wrong.errors);
  assert.equal(wrong.errors.match(/LOG_LEVEL/g)?.length, 1, wrong.errors);
  const many = await fresh.runProcess(['serve', '--processes', '65']);
  assert.equal(many.code, 2, many.errors);
  assert.match(many.errors, /PROCESSES.*a number from 1 to 64/);

  const port = await freePort();
  await using first = fresh.start(['serve'], { PORT: String(port) });
  await first.written(/"message":"largesse serves"/);
  await using other = await makeHome();
  const { code, output, errors } = await other.runProcess(command, { PORT: String(port) });
  assert.equal(code, 1, errors);
  assert.equal((output + errors).match(/is in use: set PORT to another port/g)?.length, 1, output + errors);
  assert.doesNotMatch(output + errors, /started again/);
});
