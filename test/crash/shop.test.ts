/**
 * A service is killed at random moments while shops use all of it. `CRASH_KILLS` sets the number of kills, `CRASH_SEED` the
 * seed.
 */

import test from 'node:test';
import { reply, smtpServer } from '../delivery/email/smtp-server.ts';
import { engine } from '../support/engine.ts';
import type { KnownCard } from '../support/load-client.ts';
import { seeded } from '../support/seeded.ts';
import { killRepeatedly } from './killing.ts';
import { backupFolder, openBackups } from './loads/backups.ts';
import { openBatches } from './loads/batches.ts';
import { openCards } from './loads/cards.ts';
import { openEmails, outcomeOf } from './loads/emails.ts';
import { openErasures } from './loads/erasures.ts';
import { openMoney } from './loads/money.ts';
import { isOwner, machine, openOwners } from './loads/owners.ts';
import { openPrintedCards } from './loads/printed-cards.ts';
import { openWebhooks } from './loads/webhooks.ts';

const kills = Number(process.env['CRASH_KILLS'] ?? 40);
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);

test(`a service that is killed ${kills} times keeps its promises to shops`, async (t) => {
  const random = seeded(seed);
  const owners = { areReached: false };
  await using smtp = await smtpServer({
    onRcptTo({ address }, _session, done) {
      const isRejected = isOwner(address) && !owners.areReached;
      done(isRejected ? reply(451, '4.7.1 later') : outcomeOf(address, random));
    },
  });
  const known = new Map<number, KnownCard>();
  const loads = [
    openCards(known),
    openMoney,
    openPrintedCards,
    openBatches,
    openEmails(smtp),
    openWebhooks,
    openErasures,
    openOwners(smtp, () => (owners.areReached = true)),
  ];
  const environment = { ...machine, SMTP_URL: smtp.url().reveal(), MAIL_FROM: 'cards@shops.example' };
  // Backups of a server are not made by the service.
  if (engine.id === 'postgres') await killRepeatedly(t, { kills, seed, environment, loads });
  else {
    const folder = backupFolder();
    await killRepeatedly(t, {
      kills,
      seed,
      environment: { ...environment, BACKUP_FOLDER: folder },
      loads: [...loads, openBackups(folder, known)],
    });
  }
});
