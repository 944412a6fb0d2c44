/**
 * The service is killed again and again while it mails cards. Every card that was acknowledged has its mail: sent,
 * waiting or ended, and none is lost; what arrived twice has one name.
 *
 * `CRASH_ROUNDS` sets the number of rounds, `CRASH_SEED` the seed.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { mailServer, reply } from '../delivery/mail/mail-server.ts';
import { receivedMails } from '../delivery/mail/received.ts';
import { until } from '../harness/delivering.ts';
import { seeded } from '../harness/seeded.ts';
import { emptyFolder, openShop, serve } from '../harness/served.ts';

const rounds = Math.min(10, Number(process.env['CRASH_ROUNDS'] ?? 6));
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const clients = 3;

type Issued = { readonly id: number; readonly code: string };

/** Issues cards until the process is gone; answers those that were acknowledged. */
async function issueUntilKilled(url: string, token: string, name: string): Promise<readonly Issued[]> {
  const issued: Issued[] = [];
  for (let count = 0; ; count += 1) {
    try {
      const response = await fetch(`${url}/gift_card`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ initial_value: 5, recipient_email: `${name}-${count}@example.com` }),
      });
      const { gift_card: card } = (await response.json()) as { readonly gift_card: Issued };
      assert.equal(response.status, 201);
      issued.push(card);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return issued;
    }
  }
}

/** As if the time of what waits had come, and of the claims of processes that are gone. @returns how many claims. */
function passTime(file: string, { claimsToo }: { readonly claimsToo: boolean }): number {
  const database = new DatabaseSync(file, { timeout: 5_000 });
  const due = 'update mail_deliveries set next_at = 1 where next_at is not null and lease is';
  database.exec(`${due} null`);
  const claims = claimsToo ? Number(database.prepare(`${due} not null`).run().changes) : 0;
  database.close();
  return claims;
}

test(`killed ${rounds} times while it mails, the service loses no mail`, async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  // A tenth is refused for now, a tenth for good.
  const outcomeOf = (address: string): Error | null => {
    if (/-\d*3@/.test(address)) return reply(550, '5.1.1 nobody');
    return /-\d*7@/.test(address) && random() < 0.5 ? reply(451, '4.7.1 later') : null;
  };
  await using server = await mailServer({
    onRcptTo: ({ address }, _session, done) => done(outcomeOf(address)),
  });
  using folder = emptyFolder();
  const environment = {
    ...folder.environment,
    SMTP_URL: server.url().reveal(),
    MAIL_FROM: 'cards@flowers.example',
  };
  const token = await openShop(environment, 'flowers.example');
  const issued: Issued[] = [];
  let claimedAtDeath = 0;
  for (let round = 0; round < rounds; round += 1) {
    await using service = await serve(environment);
    const working = Array.from({ length: clients }, (_, client) =>
      issueUntilKilled(service.url, token, `r${round}c${client}`),
    );
    await wait(random.between(100, 600));
    service.kill('SIGKILL');
    for (const cards of await Promise.all(working)) issued.push(...cards);
    await service.ended();
    claimedAtDeath += passTime(folder.databaseFile, { claimsToo: true });
  }
  assert.ok(issued.length > rounds, 'too few cards to tell');

  const beside = new DatabaseSync(folder.databaseFile, { readOnly: true, timeout: 5_000 });
  const stateOf = beside.prepare('select state, attempts from mail_deliveries where card_id = ?');
  const states = (): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const { id } of issued) {
      const mails = stateOf.all(id);
      assert.equal(mails.length, 1, `card ${id} has ${mails.length} mails`);
      const state = String(mails[0]?.['state']);
      counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    return counts;
  };
  const sum = (counts: ReadonlyMap<string, number>): number =>
    counts.values().reduce((total, count) => total + count, 0);
  assert.equal(sum(states()), issued.length, 'every card has its mail');

  await using service = await serve(environment);
  await until(() => {
    passTime(folder.databaseFile, { claimsToo: false });
    const counts = states();
    return !counts.has('queued') && !counts.has('deferred');
  }, 60_000);
  const ended = states();
  assert.deepEqual([...ended.keys()].toSorted(), ['bounced', 'sent']);
  assert.equal(sum(ended), issued.length);

  const received = receivedMails(server);
  const codes = new Map(received.map((mail) => [mail.code, mail]));
  const bounced = new Set(
    issued.filter(({ id }) => stateOf.get(id)?.['state'] === 'bounced').map(({ code }) => code),
  );
  for (const { id, code } of issued) {
    assert.equal(codes.has(code), !bounced.has(code), `the mail of card ${id}`);
  }
  const twice = received.length - new Set(received.map(({ messageId }) => messageId)).size;
  assert.equal(
    new Set(received.map(({ messageId, code }) => `${messageId} ${code}`)).size,
    received.length - twice,
  );
  assert.ok(twice <= claimedAtDeath, `${twice} arrived twice, ${claimedAtDeath} were claimed at a death`);
  const sealed = beside.prepare('select count(*) as count from mail_deliveries where code is not null').get();
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  assert.match(metrics, /largesse_mails_taken_over_total \d+/);
  service.kill('SIGTERM');
  await service.ended();
  const whole = readFileSync(folder.databaseFile);
  for (const { code } of issued) assert.ok(!whole.includes(code));
  assert.equal(sealed?.['count'], 0);
  t.diagnostic(
    `${issued.length} cards acknowledged, ${received.length} mails arrived, ${twice} of them twice; ` +
      `${claimedAtDeath} were claimed at a death; ended: ${JSON.stringify(Object.fromEntries(ended))}`,
  );
  beside.close();
});
