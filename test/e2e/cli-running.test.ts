/** The command line during a running service: its changes apply at once, and its output is correct. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import test from 'node:test';
import { internalIdOf } from '../support/public-ids.ts';
import { ask, cardOf, makeHome, type GiftCard, type Home, type Served } from './largesse.ts';

const domain = 'flowers.example';

type Token = { readonly id: number; readonly token: string };

async function makeStore(home: Home): Promise<Token> {
  await home.json('store', 'create', domain, '--currency', 'EUR');
  return home.json<Token>('token', 'create', '--store', domain);
}

async function issue({ url }: Served, token: string): Promise<GiftCard> {
  return cardOf(await ask(`${url}/gift_card`, { token, json: { initial_value: 25 } }), 201);
}

test('serve writes JSON logs to a pipe and exits with 0 on SIGTERM and on SIGINT', async (t) => {
  await using home = await makeHome();
  const { token } = await makeStore(home);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    await t.test(signal, async () => {
      const service = await home.serve();
      const { code } = await issue(service, token);
      service.program.kill(signal);
      assert.deepEqual(await service.program.ended(), { code: 0, signal: null });
      assert.equal(service.program.errors(), '');

      const output = service.program.output();
      const lines = output.trimEnd().split('\n');
      const logged = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
      const messages = logged.map(({ message }) => message);
      assert.ok(messages.includes('largesse serves'));
      assert.equal(messages.at(-1), 'stopped');
      const logLine = logged.find(({ message }) => message === 'request');
      const { level, method, route, status, store } = logLine ?? {};
      assert.deepEqual(
        { level, method, route, status, store },
        { level: 'info', method: 'POST', route: '/gift_card', status: 201, store: domain },
      );
      for (const { time } of logged) assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.ok(!output.includes(String(code)) && !output.includes(token), 'secrets are not logged');
    });
    assert.deepEqual(readdirSync(home.folder).toSorted(), home.database.filesLeft);
  }
});

test('a running request gets its response after SIGTERM, even if the signal is sent repeatedly', async () => {
  await using home = await makeHome();
  const { token } = await makeStore(home);
  const service = await home.serve();
  const body = '{"initial_value": 25}';
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    'x-access-token': token,
  };
  const upload = request(`${service.url}/gift_card`, { method: 'POST', headers });
  upload.write(body.slice(0, 5));
  await loggedAsk(service);

  service.program.kill('SIGTERM');
  await service.program.written(/"message":"stopping: waiting for requests in flight"/);
  // A terminal signals npm and the service, and npm forwards its signal: there are always two.
  service.program.kill('SIGTERM');
  const uploaded = once(upload, 'response') as Promise<[IncomingMessage]>;
  upload.end(body.slice(5));
  const [response] = await uploaded;
  response.resume();
  assert.equal(response.statusCode, 201);
  assert.deepEqual(await service.program.ended(), { code: 0, signal: null });
  assert.match(service.program.output(), /"message":"stopped"\}\n$/);
});

/** Sends a request and waits until it is logged, after all earlier requests have arrived. */
async function loggedAsk({ url, program }: Served): Promise<void> {
  await ask(`${url}/healthz`);
  await program.written(/"route":"\/healthz"/);
}

test('a token is created, rotated or revoked at once for a running service', async () => {
  await using home = await makeHome();
  const { token: first } = await makeStore(home);
  const service = await home.serve();
  const { id } = await issue(service, first);
  const statusWith = async (token: string): Promise<number> =>
    (await ask(`${service.url}/gift_card/${id}`, { token })).status;

  const till = await home.json<Token>('token', 'create', '--store', domain, '--name', 'till');
  assert.equal(await statusWith(till.token), 200);
  const rotated = await home.json<Token>('token', 'rotate', '--store', domain, String(till.id));
  assert.deepEqual([await statusWith(till.token), await statusWith(rotated.token)], [401, 200]);
  assert.deepEqual(await home.json('token', 'revoke', '--store', domain, String(rotated.id)), {
    revoked: rotated.id,
  });
  assert.deepEqual([await statusWith(rotated.token), await statusWith(first)], [401, 200]);

  const again = await home.run(['token', 'revoke', '--store', domain, String(rotated.id)]);
  assert.equal(again.code, 1, 'a revoked token cannot be revoked again');

  const reader = await home.json<Token>('token', 'create', '--store', domain, '--scopes', 'read_gift_cards');
  const rejected = await ask(`${service.url}/gift_card`, { token: reader.token, json: { initial_value: 5 } });
  assert.deepEqual([await statusWith(reader.token), rejected.status], [200, 403]);
});

test('a changed setting of a store applies at once to a running service', async () => {
  await using home = await makeHome();
  const { token } = await makeStore(home);
  const service = await home.serve();
  await home.json('store', 'update', domain, '--issue-limit', '20');
  const response = await ask(`${service.url}/gift_card`, { token, json: { initial_value: 25 } });
  assert.equal(response.status, 422);
  await home.json('store', 'update', domain, '--issue-limit', 'none');
  await issue(service, token);
});

type Verification = {
  readonly ok: boolean;
  readonly stores: readonly Readonly<Record<string, unknown>>[];
  readonly mismatches: readonly {
    readonly store: string;
    readonly gift_card_id: number | null;
    readonly problem: string;
  }[];
};

test('verify reports the totals, and names a card whose balance was changed outside the ledger', async () => {
  await using home = await makeHome();
  const { token } = await makeStore(home);
  const service = await home.serve();
  const [card, other] = [await issue(service, token), await issue(service, token)];
  await ask(`${service.url}/gift_card/${other.id}`, { method: 'PUT', token, json: { balance: '10.00' } });

  const { ok, stores, mismatches } = await home.json<Verification>('verify');
  assert.deepEqual([ok, mismatches], [true, []]);
  assert.deepEqual(stores, [
    {
      store: domain,
      cards: 2,
      transfers: 3,
      currency: 'EUR',
      outstanding: '35.00',
      sales: '-50.00',
      adjustments: '15.00',
    },
  ]);
  const sound = await home.runProcess(['verify']);
  assert.equal(sound.code, 0);
  assert.match(sound.output, /^flowers\.example +2 +3 +35\.00 +EUR\nThe ledger matches every balance\.\n$/m);
  // Two cards with a code each, three transfers and their events.
  assert.match(sound.errors, /^verified: (\d+) of \1 rows, [\d,]+ rows\/s\n$/);

  const row = internalIdOf(home.database.keysFile, card.id);
  await home.database.meddle(`update gift_cards set balance = balance + 100 where id = ${row}`);
  const found = await home.runProcess(['verify']);
  assert.equal(found.code, 1);
  assert.ok(
    found.output.includes(`${domain}, gift card ${card.id} (row ${row}): has a balance that is not the sum`),
  );
  assert.ok(!found.output.includes(`gift card ${other.id}`), 'the sound card is not named');
  assert.match(found.output, /The ledger does not match\.\n$/);

  const asJson = await home.runProcess(['verify', '--json']);
  assert.deepEqual([asJson.code, asJson.errors], [1, '']);
  const verification = JSON.parse(asJson.output) as Verification;
  assert.equal(verification.ok, false);
  assert.deepEqual(
    verification.mismatches.flatMap(({ store, gift_card_id: id }) => (id === null ? [] : [[store, id]])),
    [[domain, card.id]],
  );
});
