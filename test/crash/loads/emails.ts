/**
 * Cards that the service emails. Each acknowledged card has one email, which is sent at least once or bounces; no email is sent
 * of a card that there is not, emails that arrive twice have one Message-ID, and no code is left in the database.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { receivedEmails } from '../../delivery/email/received.ts';
import { reply, type SmtpServer } from '../../delivery/email/smtp-server.ts';
import { until } from '../../support/delivering.ts';
import { send } from '../../support/http-client.ts';
import { publicIdsOf } from '../../support/public-ids.ts';
import type { Seeded } from '../../support/seeded.ts';
import { isRejected, persist, type Load, type OpenLoad, type World } from '../killing.ts';

const clients = 2;
/** The pause between two cards. Other loads send fewer emails. */
const restMs = 10;

type Issued = { readonly id: number; readonly code: string };

/** The outcomes of emails, in turn, which includes each in a small number of emails. */
const fates = ['arrives', 'bounces', 'arrives-later'] as const;

/** The response of a mail server to an address of this load. */
export function outcomeOf(address: string, random: Seeded): Error | null {
  if (address.startsWith('bounces-')) return reply(550, '5.1.1 unknown');
  return address.startsWith('arrives-later-') && random() < 0.5 ? reply(451, '4.7.1 later') : null;
}

/** The emails that a mail server got, compared with the cards. */
async function assertReceived(
  server: SmtpServer,
  {
    issued,
    bounced,
    claimed,
    isCode,
  }: {
    readonly issued: readonly Issued[];
    readonly bounced: ReadonlySet<number>;
    /** The claims that kills have interrupted. */
    readonly claimed: number;
    readonly isCode: (code: string) => Promise<boolean>;
  },
): Promise<string> {
  const received = receivedEmails(server).filter(({ to }) =>
    to.some((address) => address.startsWith('arrives')),
  );
  const byCode = Map.groupBy(received, ({ code }) => code);
  for (const { id, code } of issued)
    assert.equal(byCode.has(code), !bounced.has(id), `the email of the card ${id}`);
  const known = new Set(issued.map(({ code }) => code));
  for (const [code, emails] of byCode) {
    assert.equal(new Set(emails.map(({ messageId }) => messageId)).size, 1, 'an email that arrived twice');
    // A process can be killed between the commit and the response.
    if (!known.has(code)) assert.ok(await isCode(code), `an email with the code of no card: ${code}`);
  }
  const twice = received.length - byCode.size;
  assert.ok(twice <= claimed, `${twice} arrived twice, ${claimed} were claimed during a kill`);
  return `${received.length} arrived, ${twice} of them twice, ${bounced.size} bounced; ${claimed} were claimed during a kill`;
}

/** The state of the only email of each issued card. */
async function statesOf({ database }: World, storeId: number, issued: readonly Issued[]) {
  const rows = await database.query(
    "select card_id, state from email_deliveries where store_id = ? and kind = 'gift_card'",
    storeId,
  );
  const ids = publicIdsOf(database.keysFile);
  const emails = Map.groupBy(rows, ({ card_id: cardId }): number => ids.of(Number(cardId)));
  const states = new Map<number, string>();
  for (const { id } of issued) {
    const [email, ...others] = emails.get(id) ?? [];
    assert.ok(email && others.length === 0, `the card ${id} does not have one email`);
    states.set(id, String(email['state']));
  }
  return states;
}

/** @param server the mail server of the service. */
export const openEmails =
  (server: SmtpServer): OpenLoad =>
  async (world): Promise<Load> => {
    const { database, url, openStore, count } = world;
    const { token, storeId } = await openStore('emails.example');
    const issued: Issued[] = [];
    let sent = 0;
    let claimed = 0;
    let result = '';
    const post = (path: string, json: object) => send(`${url}${path}`, { method: 'POST', token, json });

    const issue = async (isOver: () => boolean): Promise<void> => {
      sent += 1;
      const address = `${fates[sent % fates.length]}-${sent}@example.com`;
      const response = await post('/gift_card', { initial_value: 5, recipient_email: address });
      if (isRejected(response, isOver)) return;
      assert.equal(response.status, 201, response.text);
      const { gift_card: card } = response.json as { readonly gift_card: Issued };
      issued.push(card);
      await wait(restMs);
    };
    /** Makes waiting emails due. */
    const passTime = async (which: string): Promise<void> =>
      database.meddle(`update email_deliveries set next_at = 1 where store_id = ${storeId} and ${which}`);

    return {
      name: 'emails',
      count: () => issued.length,
      async work(isOver) {
        await Promise.all(
          Array.from({ length: clients }, async () => {
            while (!isOver()) await persist(isOver, () => issue(isOver));
          }),
        );
      },
      async whileDown() {
        claimed += await count(
          'select count(*) from email_deliveries where store_id = ? and lease is not null',
          storeId,
        );
        // The claims of the killed process end.
        await passTime('next_at is not null');
      },
      async checkRestarted() {
        await statesOf(world, storeId, issued);
      },
      async checkEnd() {
        const waiting = 'select count(*) from email_deliveries where store_id = ? and next_at is not null';
        await until(async () => {
          await passTime('next_at is not null and lease is null');
          return (await count(waiting, storeId)) === 0;
        }, 60_000);
        const states = await statesOf(world, storeId, issued);
        for (const [id, state] of states)
          assert.ok(['bounced', 'sent'].includes(state), `the email of ${id} is ${state}`);
        const bounced = new Set(issued.map(({ id }) => id).filter((id) => states.get(id) === 'bounced'));
        const isCode = async (code: string) => (await post('/gift_card/lookup', { code })).status === 200;
        result = await assertReceived(server, { issued, bounced, claimed, isCode });
        assert.equal(await count('select count(*) from email_deliveries where code is not null'), 0);
        const metrics = (await send(`${url}/metrics`)).text;
        assert.match(metrics, /largesse_emails_reclaimed_total \d+/);
      },
      checkStopped(bytes) {
        for (const { code } of issued) assert.ok(!bytes.includes(code), 'a code is stored');
      },
      summary: () => result,
    };
  };
