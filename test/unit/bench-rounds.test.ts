/** The rounds of two servers in turn, with real servers and counted instead of measured costs. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';
import type { Request } from '../../bench/load.ts';
import { operationNames } from '../../bench/operations.ts';
import { readCommand } from '../../bench/options.ts';
import type { Usage } from '../../bench/processes.ts';
import { measureIdle, measureInTurn, measureLoad, type Contestant } from '../../bench/rounds.ts';

const options = '--rounds 4 --seconds 0.02 --warm-up 10 --connections 2 --operation debit';
const { plan } = readCommand(options.split(' '));
const request: Request = {
  method: 'GET',
  text: 'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  status: 200,
  check: null,
};
const requests = Object.fromEntries(
  operationNames.map((name) => [name, () => request]),
) as Contestant['requests'];

type Counted = AsyncDisposable & {
  readonly contestant: Contestant;
  readonly used: { micros: number; bytes: number };
};

/** A server whose requests have known costs. */
async function serve(
  onRequest: (used: Counted['used']) => unknown,
  database: Contestant['database'],
): Promise<Counted> {
  const used = { micros: 5_000, bytes: 70_000 };
  const server = createServer((_request, response) => {
    onRequest(used);
    response.setHeader('content-length', 2).end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert(address !== null && typeof address === 'object');
  const usage = (): Usage & { readonly memoryMb: number } => ({ ...used, memoryMb: used.micros / 1_000 });
  return {
    used,
    contestant: { server: { port: address.port, usage }, requests, database },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const four = (value: number): readonly number[] => [value, value, value, value];

test('each of two services is charged with its own requests, and with those to the shared database server', async () => {
  const shared = { micros: 900, bytes: 800 };
  const database = (): Promise<Usage> => Promise.resolve({ ...shared });
  const costing = (own: number, inDatabase: number) =>
    serve((used) => {
      used.micros += own;
      shared.micros += inDatabase;
      shared.bytes += 2 * inDatabase;
    }, database);
  await using one = await costing(10, 3);
  await using other = await costing(20, 5);
  const [ofOne, ofOther] = await measureInTurn(plan, 'debit', [one.contestant, other.contestant]);
  assert.deepEqual([ofOne.microsPerRequest, ofOther.microsPerRequest], [four(10), four(20)]);
  assert.deepEqual([ofOne.databaseMicros, ofOther.databaseMicros], [four(3), four(5)]);
  assert.deepEqual([ofOne.writtenBytes, ofOther.writtenBytes], [four(6), four(10)]);
  assert.equal(ofOne.memoryMb, one.used.micros / 1_000);
});

test('work that a service and its database server do during the turn of the baseline counts for the service', async () => {
  const ofServer = { micros: 0, bytes: 0 };
  await using service = await serve(
    (used) => (used.bytes += 6),
    () => Promise.resolve({ ...ofServer }),
  );
  await using baseline = await serve((used) => {
    used.micros += 2;
    service.used.micros += 7;
    ofServer.micros += 4;
  }, null);
  const [ofService, ofBaseline] = await measureInTurn(plan, 'debit', [
    service.contestant,
    baseline.contestant,
  ]);
  assert.deepEqual(ofBaseline.microsPerRequest, four(2));
  assert.equal(ofBaseline.databaseMicros, null);
  // In all rounds, whichever server was the first.
  assert.deepEqual(
    ofService.databaseMicros?.map((micros) => (micros / 4).toFixed(6)),
    ofService.microsPerRequest.map((micros) => (micros / 7).toFixed(6)),
  );
  assert.ok(ofService.microsPerRequest.every((micros) => micros > 0));
});

test('a service without a database server is charged with the bytes that it writes', async () => {
  const costing = (bytes: number) => serve((used) => (used.bytes += bytes), null);
  await using one = await costing(400);
  await using other = await costing(300);
  const [ofOne, ofOther] = await measureInTurn(plan, 'debit', [one.contestant, other.contestant]);
  assert.deepEqual([ofOne.writtenBytes, ofOther.writtenBytes], [four(400), four(300)]);
  assert.equal(ofOne.databaseMicros, null);
});

test('neither server is always the first, and both are warmed up before', async () => {
  const turns: string[] = [];
  const noting = (name: string) => serve(() => turns.at(-1) === name || turns.push(name), null);
  await using one = await noting('one');
  await using other = await noting('other');
  await measureInTurn({ ...plan, firstWarmUpRequests: 0 }, 'debit', [one.contestant, other.contestant]);
  assert.deepEqual(turns, ['one', 'other', 'one', 'other', 'one']);
});

test('a small load has the processor time of each of its requests, at its rate or of one caller', async (t) => {
  let inFlight = 0;
  let inFlightMax = 0;
  await using service = await serve((used) => (used.micros += 40), null);
  const short = { ...plan, openLoopSeconds: 0.5 };
  await t.test('at a rate', async () => {
    const measured = await measureLoad(short, service.contestant, { operation: 'debit', rate: 100 });
    assert.equal(measured.microsPerRequest, 40);
    // A busy machine sends them later.
    assert.ok(measured.requestsPerSecond <= 120, `${measured.requestsPerSecond}/s`);
    assert.ok(measured.latency.p50Ms > 0);
  });
  await t.test('one caller waits for each response', async () => {
    const next = (): Request => {
      inFlight += 1;
      inFlightMax = Math.max(inFlightMax, inFlight);
      return { ...request, check: () => (inFlight -= 1) };
    };
    const contestant = { ...service.contestant, requests: { ...requests, debit: next } };
    const measured = await measureLoad(short, contestant, { operation: 'debit', rate: null });
    assert.equal(measured.microsPerRequest, 40);
    assert.deepEqual([inFlightMax, measured.rate], [1, null]);
  });
});

test('the idle time of a service is its processor time without requests, as a share of a core', async () => {
  const used = { micros: 500, bytes: 0, memoryMb: 1 };
  const usage = () => ({ ...used });
  const working = setTimeout(() => (used.micros += 1_000), 10);
  const percent = await measureIdle({ ...plan, openLoopSeconds: 0.1 }, { usage });
  clearTimeout(working);
  // 1 ms of 100 ms, which a timer can end up to 1 ms early.
  assert.ok(percent > 0.3 && percent < 1.02, `${percent} %`);
});
