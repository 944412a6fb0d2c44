/**
 * The service is killed repeatedly while it emails cards. Every acknowledged card keeps its email: sent,
 * waiting or ended. Emails that arrive twice have the same Message-ID.
 *
 * `CRASH_ROUNDS` sets the number of rounds, `CRASH_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { smtpServer, reply } from '../delivery/email/smtp-server.ts';
import { receivedEmails } from '../delivery/email/received.ts';
import { publicIdsOf } from '../support/public-ids.ts';
import { until } from '../support/delivering.ts';
import type { EngineDatabase } from '../support/engine-database.ts';
import { seeded } from '../support/seeded.ts';
import { databaseToServe, openShop, serve } from '../support/served.ts';

const rounds = Math.min(10, Number(process.env['CRASH_ROUNDS'] ?? 2));
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const clients = 3;

type Issued = { readonly id: number; readonly code: string };

/** The outcomes of emails, in turn, which includes each in a small number of emails. */
const fates = ['arrives', 'bounces', 'arrives-later'] as const;

/** Issues cards until the process is killed, and reports each acknowledged one. */
async function issueUntilKilled(
  url: string,
  token: string,
  {
    round,
    client,
    acknowledged,
  }: { readonly round: number; readonly client: number; readonly acknowledged: (card: Issued) => void },
): Promise<void> {
  for (let count = client; ; count += 1) {
    const address = `${fates[count % fates.length]}-${round}-${client}-${count}@example.com`;
    try {
      const response = await fetch(`${url}/gift_card`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ initial_value: 5, recipient_email: address }),
      });
      const { gift_card: card } = (await response.json()) as { readonly gift_card: Issued };
      assert.equal(response.status, 201);
      acknowledged(card);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
  }
}

/** Makes waiting emails due, and the claims of killed processes expire. @returns the number of claims. */
async function passTime(
  database: EngineDatabase,
  { claimsToo }: { readonly claimsToo: boolean },
): Promise<number> {
  const [row] = await database.query(
    'select count(*) as claims from email_deliveries where lease is not null',
  );
  const due = 'update email_deliveries set next_at = 1 where next_at is not null';
  await database.meddle(claimsToo ? due : `${due} and lease is null`);
  return Number(row?.['claims']);
}

test(`the service loses no email when killed ${rounds} times while it sends them`, async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  const outcomeOf = (address: string): Error | null => {
    if (address.startsWith('bounces-')) return reply(550, '5.1.1 unknown');
    return address.startsWith('arrives-later-') && random() < 0.5 ? reply(451, '4.7.1 later') : null;
  };
  await using server = await smtpServer({
    onRcptTo: ({ address }, _session, done) => done(outcomeOf(address)),
  });
  await using database = await databaseToServe();
  const environment = {
    ...database.environment,
    SMTP_URL: server.url().reveal(),
    MAIL_FROM: 'cards@flowers.example',
  };
  const token = await openShop(environment, 'flowers.example');
  const issued: Issued[] = [];
  let claimedAtKill = 0;
  for (let round = 0; round < rounds; round += 1) {
    await using service = await serve(environment);
    const acknowledged = (card: Issued): void => void issued.push(card);
    const before = issued.length;
    const working = Array.from({ length: clients }, (_, client) =>
      issueUntilKilled(service.url, token, { round, client, acknowledged }),
    );
    const cards = random.between(1, 100);
    await until(() => issued.length >= before + cards);
    await wait(random.between(0, 50));
    service.kill('SIGKILL');
    await Promise.all(working);
    await service.ended();
    claimedAtKill += await passTime(database, { claimsToo: true });
  }

  const emailsByCard = async (): Promise<ReadonlyMap<number, readonly string[]>> => {
    const rows = await database.query('select card_id, state from email_deliveries');
    const ids = publicIdsOf(database.keysFile);
    const emails = new Map<number, string[]>();
    for (const { card_id: cardId, state } of rows) {
      const id = ids.of(Number(cardId));
      emails.set(id, [...(emails.get(id) ?? []), String(state)]);
    }
    return emails;
  };
  const states = async (): Promise<Map<string, number>> => {
    const emails = await emailsByCard();
    const counts = new Map<string, number>();
    for (const { id } of issued) {
      const [state, ...others] = emails.get(id) ?? [];
      assert.ok(state !== undefined && others.length === 0, `card ${id} has one email`);
      counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    return counts;
  };
  const sum = (counts: ReadonlyMap<string, number>): number =>
    counts.values().reduce((total, count) => total + count, 0);
  assert.equal(sum(await states()), issued.length, 'every card has its email');

  await using service = await serve(environment);
  await until(async () => {
    await passTime(database, { claimsToo: false });
    // Includes cards without a response: the process can be killed between the commit and the response.
    return (await database.query('select 1 from email_deliveries where next_at is not null')).length === 0;
  }, 60_000);
  const ended = await states();
  assert.deepEqual([...ended.keys()].toSorted(), ['bounced', 'sent']);
  assert.equal(sum(ended), issued.length);

  const last = await emailsByCard();
  const received = receivedEmails(server);
  const codes = new Map(received.map((email) => [email.code, email]));
  const bounced = new Set(issued.filter(({ id }) => last.get(id)?.[0] === 'bounced').map(({ code }) => code));
  for (const { id, code } of issued) {
    assert.equal(codes.has(code), !bounced.has(code), `the email of card ${id}`);
  }
  const twice = received.length - new Set(received.map(({ messageId }) => messageId)).size;
  assert.equal(
    new Set(received.map(({ messageId, code }) => `${messageId} ${code}`)).size,
    received.length - twice,
  );
  assert.ok(twice <= claimedAtKill, `${twice} arrived twice, ${claimedAtKill} were claimed during a kill`);
  const sealed = await database.query('select 1 from email_deliveries where code is not null');
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  assert.match(metrics, /largesse_emails_reclaimed_total \d+/);
  service.kill('SIGTERM');
  await service.ended();
  const whole = await database.bytes();
  for (const { code } of issued) assert.ok(!whole.includes(code));
  assert.deepEqual(sealed, []);
  t.diagnostic(
    `${issued.length} cards acknowledged, ${received.length} emails arrived, ${twice} of them twice; ` +
      `${claimedAtKill} were claimed during a kill; ended: ${JSON.stringify(Object.fromEntries(ended))}`,
  );
});
