/**
 * Sealed backups of the embedded database. A kill leaves the earlier backups and no torn file that counts, and a backup that
 * was begun after an acknowledged change has it.
 */

import assert from 'node:assert/strict';
import { createReadStream, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openBackup } from '../../../src/features/backups/platform/open.ts';
import { parseRecoveryKey } from '../../../src/features/backups/platform/recovery-key.ts';
import { until } from '../../support/delivering.ts';
import { reading } from '../../support/engine-sqlite.ts';
import { storedCards } from '../../support/stored.ts';
import { makeScratchFolder } from '../../support/scratch.ts';
import type { KnownCard } from '../../support/load-client.ts';
import { persist, type Load, type World } from '../killing.ts';
import { openOwner } from './owners.ts';

const path = '/settings/machine/backups';
const domain = 'backups.example';
/** A backup reads the whole database, so not every service makes one. */
const every = 3;

export function backupFolder(): string {
  const folder = join(makeScratchFolder('backup-kills-'), 'disk');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** @param folder where the service puts backups. @param acknowledged every acknowledged card of a load, as it is. */
export const openBackups =
  (folder: string, acknowledged: ReadonlyMap<number, KnownCard>) =>
  async (world: World): Promise<Load> => {
    const {
      database: { keysFile },
      openStore,
    } = world;
    await openStore(domain);
    const browser = await openOwner(world, domain, `owner@${domain}`);
    const sheet = await browser.post(`${path}/sheet`);
    const [typed = ''] = /AGE-SECRET-KEY-1 [0-9A-Z ]+/.exec(sheet.text) ?? [];
    const key = await parseRecoveryKey(typed);
    assert.ok(key.ok, sheet.text);
    const { identity } = key.value;
    await browser.post(`${path}/sheet/confirm`, { typed: identity.reveal().slice(-6) });

    /** The backups at the place, without what is not complete. */
    const backups = (): readonly string[] =>
      readdirSync(folder, { recursive: true })
        .map(String)
        .filter((name) => name.endsWith('.age'))
        .toSorted();
    const listed = async (): Promise<readonly string[]> =>
      Array.from(
        (await browser.get(path)).text.matchAll(/name="name" value="([^"]+)"/g),
        ([, name = '']) => name,
      );
    /** The files of a backup next to the database. */
    const left = (): readonly string[] =>
      readdirSync(dirname(keysFile)).filter((name) => /\.backup-(?:copy|sealed|keys)/.test(name));

    /** Acknowledged before the present service was started, and so before it began a backup. */
    let known: readonly KnownCard[] = [];
    let newest = '';
    let opened = 0;
    let rounds = 0;

    /** Asserts that a backup opens with the sheet, and has every acknowledged card as it was, or later. */
    const assertOpens = async (name: string, cards: readonly KnownCard[]): Promise<void> => {
      const target = join(dirname(folder), 'opened.db');
      rmSync(target, { force: true });
      const source = createReadStream(join(folder, name)) as AsyncIterable<Uint8Array>;
      const { keys } = await openBackup(source, { identity, database: target, databaseBytesMax: 2 ** 30 });
      assert.deepEqual(keys, readFileSync(keysFile));
      const held = await storedCards({
        keysFile,
        query: async (text) => reading(target, (copy) => copy.prepare(text).all()),
      });
      for (const card of cards) {
        const there = held.get(card.id);
        assert.ok(there, `the card ${card.id} was acknowledged before the backup ${name} and is not in it`);
        assert.ok(
          there.version >= card.version,
          `the card ${card.id} is older than its acknowledged version`,
        );
        if (there.version === card.version) assert.deepEqual(there, card);
      }
      opened += 1;
    };

    return {
      name: 'backups',
      count: () => 0,
      async work(isOver) {
        rounds += 1;
        if (rounds % every === 1) await persist(isOver, () => browser.post(`${path}/now`));
      },
      async whileDown() {
        const present = backups();
        // An earlier one of the same hour is removed only after a newer one was verified.
        assert.ok((present.at(-1) ?? '') >= newest, `${present.join()} after ${newest}`);
        const last = present.at(-1) ?? '';
        if (last !== newest) await assertOpens(last, known);
        newest = last;
        known = [...acknowledged.values()];
      },
      async checkRestarted() {
        await until(() => left().length === 0);
        for (const name of await listed())
          assert.ok(
            backups().some((each) => each.endsWith(name)),
            name,
          );
      },
      async checkEnd() {
        await browser.post(`${path}/now`);
        await until(() => (backups().at(-1) ?? '') > newest, 60_000);
        const present = backups();
        for (const name of present) await assertOpens(name, name === present.at(-1) ? known : []);
      },
      summary: () => `${opened} were opened`,
      close: () => rmSync(dirname(folder), { recursive: true }),
    };
  };
