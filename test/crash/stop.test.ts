/** The service is stopped under load. */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { seeded } from '../support/seeded.ts';
import { command, databaseToServe, openShop, serve, type Served } from '../support/served.ts';
import { assertHolds } from '../support/stored.ts';
import { countAcknowledged, openLoadClients, untilMoreAcknowledged } from '../support/load-client.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const stopWithinMs = 10_000;

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal} under load ends the service with code 0, after it has responded to every earlier request`, async (t) => {
    t.diagnostic(`seed ${seed} (CRASH_SEED)`);
    await using database = await databaseToServe();
    const { environment, folder, filesLeft } = database;
    const token = await openShop(environment, 'flowers.example');
    const clients = openLoadClients(32, token, seeded(seed));
    await using service = await serve(environment);
    const working = clients.map((client) => client.work(service.url, () => false));
    await untilMoreAcknowledged(clients, 300);
    const stoppedAt = performance.now();
    service.kill(signal);
    assert.deepEqual(await service.ended(), { code: 0, signal: null }, service.output().slice(-2_000));
    const took = performance.now() - stoppedAt;
    assert.ok(took < stopWithinMs, `it took ${took} ms`);

    const outcomes = await Promise.all(working);
    for (const outcome of outcomes) {
      assert.ok(outcome);
      // Requests before the signal got a response. Later ones got 503, or could not connect.
      if (outcome.sentAt < stoppedAt) assert.equal(outcome.status, 503, String(outcome.error));
      else if (outcome.status !== 503)
        assert.match(String(outcome.error), /ECONNREFUSED|ECONNRESET|socket hang up|EPIPE/);
    }
    // Checked before this test reads a file, which creates a log again.
    assert.deepEqual(readdirSync(folder).toSorted(), filesLeft, 'the log was moved into the file');
    assert.equal(
      (await assertHolds(database, clients)).size,
      0,
      'requests that were rejected during the shutdown were not executed',
    );
    assert.doesNotMatch(service.output(), /"level":"(?:error|fatal)"/);
    const { code, output } = await command(environment, 'verify', '--json');
    assert.equal(code, 0, output);
    for (const client of clients) client.close();
    t.diagnostic(`${countAcknowledged(clients)} requests acknowledged, stopped in ${Math.round(took)} ms`);
  });
}

test('a request that is half sent at shutdown gets its response, and readiness returns 503', async () => {
  await using database = await databaseToServe();
  const { environment, folder, filesLeft } = database;
  const token = await openShop(environment, 'flowers.example');
  await using service = await serve(environment);
  const body = '{"initial_value":"5.00","note":"slow"}';
  const [head, tail] = [body.slice(0, 10), body.slice(10)];
  const conversation = await converse(service);
  conversation.send(
    `POST /gift_card HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${head}`,
  );
  await wait(300);
  const [alive] = await ask(service, '/readyz');
  assert.equal(alive, 200);
  service.kill('SIGTERM');
  await service.written(/"stopping/);
  await wait(200);
  await assert.rejects(ask(service, '/readyz'), 'new connections are not accepted');
  conversation.send(`${tail}GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  assert.deepEqual(await service.ended(), { code: 0, signal: null });
  const heard = await conversation.heard;
  const responses = heard.split(/(?=HTTP\/1\.1 \d{3} )/);
  assert.equal(responses.length, 2, heard);
  assert.match(responses[0] ?? '', /^HTTP\/1\.1 201 [\s\S]*"note":"slow"[\s\S]*}}$/);
  assert.match(responses[1] ?? '', /^HTTP\/1\.1 503 /);
  assert.deepEqual(readdirSync(folder).toSorted(), filesLeft, 'the log was moved into the file');
  const { code, output } = await command(environment, 'verify', '--json');
  assert.equal(code, 0, output);
  assert.equal((JSON.parse(output) as { stores: { cards: number }[] }).stores[0]?.cards, 1);
});

async function ask({ url }: Served, path: string): Promise<[status: number, text: string]> {
  const response = await fetch(`${url}${path}`, { headers: { connection: 'close' } });
  return [response.status, await response.text()];
}

/** A connection on which the test controls every byte. */
async function converse({ url }: Served) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => (text += part));
  const heard = new Promise<string>((resolve, reject) => {
    socket.once('close', () => resolve(text));
    socket.once('error', reject);
  });
  await new Promise((resolve) => {
    socket.once('connect', resolve);
  });
  return { heard, send: (bytes: string) => void socket.write(bytes) };
}
