/**
 * `largesse copy --store` as an operator runs it: with everything that a store can have, between all pairs of engines, killed
 * in the middle, and while clients send requests to the source.
 */

import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ask, type Home } from '../e2e/largesse.ts';
import {
  fileOf,
  fillSampleDatabase,
  makeFileHome,
  makeSampleDatabase,
  readSampleDatabase,
} from '../e2e/sample-databases.ts';
import type { Environment } from '../support/engine-database.ts';
import { createPostgresDatabase, sharedPostgres } from '../support/postgres-database.ts';
import { seeded } from '../support/seeded.ts';
import { serve, type Served } from '../support/served.ts';

const domain = 'flowers.example';
const seed = Number(process.env['COPY_SEED'] ?? Date.now() % 1e6);
const random = seeded(seed);
const killsMax = Number(process.env['COPY_KILLS'] ?? '8');

type Moved = {
  readonly ok: boolean;
  readonly resumed: boolean;
  readonly copied: number;
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly digest: string }[];
  readonly differences: readonly string[];
};

/** A second installation with the keys of a home and a store of its own: its URL. */
async function install(home: Home, url: string): Promise<string> {
  const onIt = { DATABASE_URL: url, KEYS_FILE: home.keysFile };
  const created = await home.run(['store', 'create', 'oak.example', '--currency', 'EUR'], onIt);
  assert.equal(created.code, 0, created.errors);
  const issued = await home.run(['card', 'issue', '--store', 'oak.example', '--value', '10'], onIt);
  assert.equal(issued.code, 0, issued.errors);
  return url;
}

function inFolder(home: Home, name: string): string {
  return `file:${join(home.folder, name)}`;
}

const argumentsOf = (store: string) => [
  'copy',
  '--store',
  store,
  '--from',
  'env:FROM',
  '--to',
  'env:TO',
  '--json',
];

async function move(home: Home, from: string, to: string, store = domain): Promise<Moved> {
  const addresses = { FROM: from, TO: to, KEYS_FILE: home.keysFile };
  const { code, output, errors } = await home.run(argumentsOf(store), addresses);
  assert.deepEqual({ code, errors }, { code: 0, errors: '' }, output);
  return JSON.parse(output) as Moved;
}

test('a store with content of every kind is moved through all pairs of engines, and is served the same', async () => {
  await using home = await makeFileHome();
  const server = await sharedPostgres();
  await using one = await createPostgresDatabase(server);
  await using two = await createPostgresDatabase(server);
  const sample = await makeSampleDatabase(home);
  const start = `file:${fileOf(home)}`;
  copyFileSync(fileOf(home), join(home.folder, 'before.db'));
  const route = [start];
  for (const url of [one.url, two.url, inFolder(home, 'three.db'), inFolder(home, 'four.db')])
    route.push(await install(home, url));
  // The second store of the sample moves as well, so that its card and token can be read everywhere.
  const moved: Moved[] = [];
  for (const [place, to] of route.entries()) {
    const from = route[place - 1];
    if (from === undefined) continue;
    await move(home, from, to, 'tea.example');
    moved.push(await move(home, from, to));
  }
  const [first] = moved;
  for (const { ok, tables, differences } of moved) assert.deepEqual([ok, tables, differences], [true, first?.tables, []]);

  const read = async (url: string): Promise<unknown> => {
    const onIt = { DATABASE_URL: url, KEYS_FILE: home.keysFile };
    const service = await home.serve(onIt);
    const responses = await readSampleDatabase(service, sample);
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
    const verified = await home.run(['verify'], onIt);
    assert.equal(verified.code, 0, verified.output);
    return responses;
  };
  const expected = await read(inFolder(home, 'before.db'));
  assert.deepEqual(await read(route.at(-1) ?? ''), expected);
}); // prettier-ignore

test('a move that is killed repeatedly can be finished', async () => {
  await using home = await makeFileHome();
  await using server = await createPostgresDatabase(await sharedPostgres());
  await fillSampleDatabase({ DATABASE_URL: `file:${fileOf(home)}` }, { cards: 1_500 });
  const [from, to] = [`file:${fileOf(home)}`, await install(home, server.url)];
  const environment = { FROM: from, TO: to, KEYS_FILE: home.keysFile };
  const rows = async (): Promise<number> => {
    const [row] = await server.query('select count(*)::int as rows from events');
    return Number(row?.['rows']);
  };
  for (const until of [500, 2_500]) {
    const program = home.start(argumentsOf(domain), environment);
    let isRunning = true;
    void program.ended().then(() => (isRunning = false));
    while (isRunning && (await rows()) < until) await wait(2);
    program.kill('SIGKILL');
    await program.ended();
  }
  const outcome = await move(home, from, to);
  assert.ok(outcome.ok);
  assert.ok(outcome.resumed, 'the last run continued');
  const verified = await home.run(['verify'], { DATABASE_URL: to, KEYS_FILE: home.keysFile });
  assert.equal(verified.code, 0, verified.output);
});

/** The environment of a service that this test starts: on a busy machine a start takes long. */
function served(environment: Environment): Environment {
  return { ...environment, PORT: '0', RATE_LIMIT: 'off', LOG_LEVEL: 'info' };
}

async function stop(service: Served): Promise<void> {
  service.kill('SIGTERM');
  assert.deepEqual(await service.ended(), { code: 0, signal: null });
}

/** A client that issues cards and spends from them, until it is stopped. */
async function client(
  { url }: Served,
  { token, isOver }: { readonly token: string; readonly isOver: () => boolean },
): Promise<{ readonly acknowledged: ReadonlyMap<string, string>; readonly statuses: ReadonlySet<number> }> {
  const acknowledged = new Map<string, string>();
  const statuses = new Set<number>();
  while (!isOver()) {
    const issued = await ask(`${url}/gift_card`, { json: { initial_value: 20 }, token });
    statuses.add(issued.status);
    if (issued.status !== 201) {
      await wait(20);
      continue;
    }
    const { id } = (issued.json as { gift_card: { id: number } }).gift_card;
    acknowledged.set(String(id), '20.00');
    const spent = await ask(`${url}/gift_card/${id}/debit`, { json: { amount: '3.00' }, token });
    statuses.add(spent.status);
    if (spent.status < 300) acknowledged.set(String(id), '17.00');
  }
  return { acknowledged, statuses };
} // prettier-ignore

/** Asserts that every acknowledged change is in the target. @returns the number of cards. */
async function assertArrived(
  { url }: Served,
  { token, worked }: { readonly token: string; readonly worked: readonly { readonly acknowledged: ReadonlyMap<string, string> }[] },
): Promise<number> {
  let cards = 0;
  for (const { acknowledged } of worked)
    for (const [id, balance] of acknowledged) {
      const { status, json } = await ask(`${url}/gift_card/${id}`, { token });
      assert.equal(status, 200, `${id} is missing`);
      const found = (json as { gift_card: { balance: string } }).gift_card.balance;
      assert.ok(found === balance || (balance === '20.00' && found === '17.00'), `${id} has ${found}, not ${balance}`);
      cards += 1;
    }
  return cards;
} // prettier-ignore

test('a move out of a file that is killed at random times while the store is used loses and doubles nothing', async () => {
  await using home = await makeFileHome();
  await using server = await createPostgresDatabase(await sharedPostgres());
  const source = { DATABASE_URL: `file:${fileOf(home)}`, KEYS_FILE: home.keysFile };
  const target = { DATABASE_URL: await install(home, server.url), KEYS_FILE: home.keysFile };
  const token = await fillSampleDatabase(source, { cards: 1_500 });
  await using service = await serve(served(source));
  await using onTarget = await serve(served(target));
  let isOver = false;
  const clients = Array.from({ length: 4 }, () => client(service, { token, isOver: () => isOver }));
  const addresses = { FROM: source.DATABASE_URL, TO: server.url, KEYS_FILE: home.keysFile };
  // One run shows how long a move takes before it is complete.
  let longestMs = 4_000;
  const reached: string[] = [];
  for (let kill = 0; kill < killsMax; kill += 1) {
    const program = home.start(argumentsOf(domain), addresses);
    const ended = program.ended();
    const startedAt = Date.now();
    const isEnded = await Promise.race([ended.then(() => true), wait(random() * longestMs, false)]);
    if (isEnded) break;
    program.kill('SIGKILL');
    await ended;
    longestMs = Math.max(longestMs, (Date.now() - startedAt) * 1.3);
    const [row] = await server.query(`select status from stores where domain = '${domain}'`);
    reached.push(String(row?.['status']));
    if (row?.['status'] === 'open') break;
    const lookup = await ask(`${onTarget.url}/gift_card?limit=1`, { token });
    assert.ok(lookup.status >= 400, 'the target does not serve it before');
  }
  if (reached.at(-1) !== 'open') {
    const { code, output, errors } = await home.runProcess(argumentsOf(domain), addresses);
    const [row] = await server.query(`select status from stores where domain = '${domain}'`);
    assert.ok(code === 0 || row?.['status'] === 'open', errors + output);
  }
  await wait(300);
  isOver = true;
  const worked = await Promise.all(clients);
  for (const { statuses } of worked) assert.ok(statuses.has(503), 'the client has seen the closing');
  await stop(service);
  const cards = await assertArrived(onTarget, { token, worked });
  assert.ok(cards > 20, `only ${cards} cards were acknowledged (seed ${seed}, killed at ${reached.join(', ')})`);
  await stop(onTarget);
  const totals = [];
  for (const environment of [source, target]) {
    const verified = await home.run(['verify', '--json'], environment);
    assert.equal(verified.code, 0, verified.output);
    const { stores } = JSON.parse(verified.output) as { readonly stores: readonly { readonly store: string }[] };
    totals.push(stores.find(({ store }) => store === domain));
  }
  assert.deepEqual(totals[1], totals[0], 'nothing is doubled');
}); // prettier-ignore

for (const [from, to] of [['a file', 'a server'], ['a server', 'a file']] as const)
  test(`a store moves from ${from} to ${to} while it and another store are used`, async () => {
    await using home = await makeFileHome();
    await using server = await createPostgresDatabase(await sharedPostgres());
    const urls = { 'a file': `file:${fileOf(home)}`, 'a server': server.url };
    const [source, target] = [{ DATABASE_URL: urls[from], KEYS_FILE: home.keysFile }, await install(home, urls[to])];
    const token = await fillSampleDatabase(source, { cards: 200 });
    const created = await home.run(['store', 'create', 'stay.example', '--currency', 'EUR'], source);
    assert.equal(created.code, 0, created.errors);
    const neighbour = await home.run(['token', 'create', '--store', 'stay.example', '--json'], source);
    const other = (JSON.parse(neighbour.output) as { token: string }).token;
    await using service = await serve(served(source));
    let [isOver, isOtherOver] = [false, false];
    const clients = Array.from({ length: 4 }, () => client(service, { token, isOver: () => isOver }));
    const others = client(service, { token: other, isOver: () => isOtherOver });
    await wait(500);
    const addresses = { FROM: urls[from], TO: target, KEYS_FILE: home.keysFile };
    const result = await home.runProcess(argumentsOf(domain), addresses);
    assert.equal(result.code, 0, result.errors + result.output);
    await wait(300);
    isOver = true;
    const worked = await Promise.all(clients);
    isOtherOver = true;
    const stayed = await others;
    assert.deepEqual([...stayed.statuses], [201, 200].filter((status) => stayed.statuses.has(status)), 'the other store is not affected');
    await stop(service);

    await using onTarget = await serve(served({ DATABASE_URL: target, KEYS_FILE: home.keysFile }));
    for (const { statuses } of worked) assert.ok(statuses.has(503), 'the client has seen the closing');
    const cards = await assertArrived(onTarget, { token, worked });
    assert.ok(cards > 20, `only ${cards} cards were acknowledged`);
    const issued = await ask(`${onTarget.url}/gift_card`, { json: { initial_value: 20 }, token });
    assert.equal(issued.status, 201);
    await stop(onTarget);
    for (const url of [urls[from], target]) {
      const verified = await home.run(['verify'], { DATABASE_URL: url, KEYS_FILE: home.keysFile });
      assert.equal(verified.code, 0, verified.output);
    }
  }); // prettier-ignore
