/** The gauges of what only the database knows. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { wallClockOf } from '../../src/platform/clock.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { findUpkeep } from '../../src/features/health/service/upkeep.ts';
import { runCommand } from '../support/command-line.ts';
import { engine } from '../support/engine.ts';
import { startService, testClock, type TestService } from '../support/service.ts';

const domain = 'flowers.example';
const dayMs = 24 * 60 * 60 * 1_000;
const limits = { examinationPeriodMs: 20 };

async function gauge(service: TestService, name: string): Promise<number> {
  const { text } = await service.request('/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NEGATIVE_INFINITY);
}

/** Waits until the gauge has a value that is accepted. */
async function until(service: TestService, name: string, accepts: (value: number) => boolean): Promise<void> {
  let value = Number.NaN;
  for (let rounds = 0; rounds < 500; rounds += 1) {
    value = await gauge(service, name);
    if (accepts(value)) return;
    await wait(20);
  }
  assert.fail(`${name} is ${value}`);
}

test('gauges have the last backup, the last verification and paused webhooks', async () => {
  await using service = await startService({ stores: [{ domain }], limits });
  const { environment } = service;
  await until(service, 'largesse_last_verification_timestamp_seconds', (value) => value === 0);
  const isSqlite = engine.id === 'sqlite';
  const backup = await gauge(service, 'largesse_last_backup_timestamp_seconds');
  assert.equal(backup, isSqlite ? 0 : Number.NEGATIVE_INFINITY, 'a server is backed up with its own tools');
  const since = Date.now() / 1_000 - 60;
  const isRecent = (value: number): boolean => value > since;
  assert.equal((await runCommand(['verify'], { environment })).code, 0);
  await until(service, 'largesse_last_verification_timestamp_seconds', isRecent);
  if (isSqlite) {
    await runCommand(['backup', join(service.database.folder, 'copy.db')], { environment });
    await until(service, 'largesse_last_backup_timestamp_seconds', isRecent);
  }
  await service.database.meddle('update verifications set mismatches = 3');
  await until(service, 'largesse_verification_problems', (value) => value === 3);

  const token = await service.token(domain);
  const json = { url: 'https://receiver.example/', events: ['*'] };
  const made = await service.request('/webhooks', { method: 'POST', token, json });
  assert.equal(made.status, 201, made.text);
  assert.equal(await gauge(service, 'largesse_paused_webhooks'), 0);
  await service.database.meddle(
    "update webhooks set status = 'paused', paused_at = 5, pause_reason = 'failures'",
  );
  await until(service, 'largesse_paused_webhooks', (value) => value === 1);
});

test('gauges have the delay of emails, of days that are not closed and of checkpoints', async () => {
  // No mail server accepts a connection.
  const environment = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'cards@flowers.example' };
  await using service = await startService({ stores: [{ domain }], limits, environment });
  const token = await service.token(domain);
  const json = { initial_value: 5, recipient_email: 'grace@example.com' };
  assert.equal((await service.request('/gift_card', { method: 'POST', token, json })).status, 201);
  await until(service, 'largesse_emails_retried_seconds', (value) => value > 0);
  assert.equal(await gauge(service, 'largesse_closing_delay_seconds'), 0);
  assert.equal(await gauge(service, 'largesse_checkpoints_due'), 0);

  const later = testClock();
  later.advance(2 * dayMs);
  await using database = await openDatabase(readConfig(service.environment), {
    prepare: false,
    clock: wallClockOf(later),
  });
  const { emailOverdueMs, emailRetriedMs } = await database.storage.read(() => findUpkeep(database.ctx));
  assert.ok(emailOverdueMs > dayMs && emailOverdueMs < emailRetriedMs, `${emailOverdueMs} ${emailRetriedMs}`);

  for (let rounds = 0; rounds < 500; rounds += 1) {
    if ((await service.query('select store_id from logs')).length > 0) break;
    await wait(20);
  }
  // The jobs that close days and create checkpoints run once a minute.
  service.clock.advance(3 * dayMs);
  await until(service, 'largesse_closing_delay_seconds', (value) => value > 24 * 3_600);
  await until(service, 'largesse_checkpoints_due', (value) => value === 1);
});
