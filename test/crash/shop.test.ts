/**
 * A service is killed at random moments while shops use all of it. `CRASH_KILLS` sets the number of kills, `CRASH_SEED` the
 * seed.
 */

import test from 'node:test';
import { smtpServer } from '../delivery/email/smtp-server.ts';
import { seeded } from '../support/seeded.ts';
import { killRepeatedly } from './killing.ts';
import { openBatches } from './loads/batches.ts';
import { openCards } from './loads/cards.ts';
import { openEmails, outcomeOf } from './loads/emails.ts';
import { openErasures } from './loads/erasures.ts';
import { openMoney } from './loads/money.ts';
import { openPrintedCards } from './loads/printed-cards.ts';
import { openWebhooks } from './loads/webhooks.ts';

const kills = Number(process.env['CRASH_KILLS'] ?? 40);
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);

test(`a service that is killed ${kills} times keeps its promises to shops`, async (t) => {
  const random = seeded(seed);
  await using mail = await smtpServer({
    onRcptTo: ({ address }, _session, done) => done(outcomeOf(address, random)),
  });
  const environment = { SMTP_URL: mail.url().reveal(), MAIL_FROM: 'cards@shops.example' };
  const loads = [
    openCards,
    openMoney,
    openPrintedCards,
    openBatches,
    openEmails(mail),
    openWebhooks,
    openErasures,
  ];
  await killRepeatedly(t, { kills, seed, environment, loads });
});
