/** A shop with an owner whose backup is sealed for a recovery sheet, for tests that restore it on another machine. */

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { makeRecoveryKey } from '../../src/features/backups/platform/recovery-key.ts';
import { sealBackup } from '../../src/features/backups/platform/seal.ts';
import { runCommand } from './command-line.ts';
import { openStaffedShop } from './counter-staff.ts';
import { until } from './delivering.ts';
import { makeScratchFolder } from './scratch.ts';
import type { TestService } from './service.ts';

export type SealedShop = {
  readonly backup: Buffer;
  /** The same content, encrypted for the sheet by someone without its MAC key. */
  readonly forgery: Buffer;
  readonly madeAt: number;
  /** The key of the sheet. */
  readonly key: string;
  readonly keys: string;
  /** The codes of the cards. */
  readonly codes: readonly string[];
};

/** The shop has three cards, one of which an email and an event were about to be sent for. */
export async function sealedShop(): Promise<SealedShop> {
  // No mail server accepts a connection.
  const environment = { SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'gifts@flowers.example' };
  await using shop = await openStaffedShop({ environment });
  await shop.as('owner');
  const json = { url: 'https://pos.example/hook', events: ['gift_card.created'] };
  assert.equal((await shop.ask('POST /webhooks', { json })).status, 201);
  const cards = [
    await shop.issue({ recipient_email: 'grace@example.com' }),
    await shop.issue(),
    await shop.issue(),
  ];
  await until(async () => {
    const rows = await shop.service.query("select 1 from email_deliveries where state = 'deferred'");
    return rows.length > 0;
  });
  const sealed = await sealedBackup(shop.service);
  return { ...sealed, codes: cards.map(({ code: of }) => of) };
}

/** A backup of a service that runs. */
export async function sealedBackup({
  environment,
  database: { keysFile },
}: TestService): Promise<Omit<SealedShop, 'codes'>> {
  const folder = makeScratchFolder('largesse-sealed-');
  mkdirSync(folder, { recursive: true });
  const copy = join(folder, 'copy.db');
  const { code, errors } = await runCommand(['backup', copy], { environment });
  assert.equal(code, 0, errors);
  const keys = readFileSync(keysFile);
  const madeAt = Math.floor(Date.now() / 1_000) * 1_000;
  const sheet = await makeRecoveryKey();
  const sealed = async (macKey: Uint8Array): Promise<Buffer> => {
    const { recipient } = sheet;
    const content = await sealBackup({ database: copy, keys, at: madeAt }, { recipient, macKey });
    return Buffer.concat(await Readable.from(content).toArray());
  };
  const backup = await sealed(sheet.macKey);
  const forgery = await sealed(Buffer.alloc(32, 7));
  writeFileSync(join(folder, 'backup.tar.zst.age'), backup);
  return { backup, forgery, madeAt, key: sheet.identity.reveal(), keys: keys.toString() };
}
