/** Workers without work ask the database nothing after a commit, and see new work at once. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { generateSigningSecret } from '../../src/features/webhooks/delivery/signature.ts';
import { addWebhook } from '../../src/features/webhooks/service/webhook.ts';
import type { Storage } from '../../src/database/storage.ts';
import { deliver, until } from '../support/delivering.ts';
import { accepts, startMailer } from '../support/emailing.ts';
import { email } from '../support/fixtures.ts';
import { openStore } from '../support/open-store.ts';
import { sqliteFactory } from '../support/sqlite.ts';

/** The storage, and how many reads the engine ran of it. */
function counting(storage: Storage): { readonly storage: Storage; readonly reads: () => number } {
  let reads = 0;
  const read: Storage['read'] = (script) => {
    reads += 1;
    return storage.read(script);
  };
  return { storage: Object.assign(Object.create(storage) as Storage, { read }), reads: () => reads };
}

test('without an active webhook, commits cause no read of due deliveries', async () => {
  await using opened = await openStore(sqliteFactory);
  const { ctx, storage, store } = opened;
  const counted = counting(storage);
  let received = 0;
  const worker = deliver({ ctx, storage: counted.storage }, () => ({ status: (received += 1) && 200 }), {
    pollMs: 60_000,
  });
  for (let round = 0; round < 5; round += 1) {
    await opened.issue();
    worker.wake();
    await wait(15);
  }
  assert.equal(counted.reads(), 0);

  const secret = generateSigningSecret(ctx.random);
  const url = 'https://shop.example.com/hook';
  await storage.write(() => addWebhook(ctx, { storeId: store.id, url, patterns: ['gift_card.*'], secret }));
  await opened.issue();
  worker.wake();
  await until(() => received === 1);
  await worker.stop();
});

test('until an email is due, commits cause no read of due emails', async () => {
  await using opened = await openStore(sqliteFactory);
  const { ctx, storage } = opened;
  const counted = counting(storage);
  const mailer = startMailer({ ctx, storage: counted.storage }, () => accepts);
  for (let round = 0; round < 5; round += 1) {
    await opened.issue();
    mailer.wake();
    await wait(25);
  }
  assert.equal(counted.reads(), 0);

  await opened.issue({ recipient: email('alan@example.com'), emails: { sendAt: null } });
  mailer.wake();
  await until(() => mailer.emails.length === 1);
  await mailer.stop();
});
