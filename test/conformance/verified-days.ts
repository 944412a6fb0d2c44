/** `verify` names changed boundaries of days, changed checkpoints, and a time zone whose record was deleted. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { addCheckpoint, addDueCheckpoint } from '../../src/features/proofs/service/checkpoint.ts';
import { changeStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { sql, type Statement } from '../../src/database/sql/sql.ts';
import { untilAppended } from '../support/appended.ts';
import { closeAllDays } from '../support/closed-days.ts';
import type { StorageFactory } from '../support/database.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const dayMs = 24 * 60 * 60_000;

/** Three closed days, of which the last one is in another time zone, a checkpoint of a day and one on demand. */
async function openDays(factory: StorageFactory): Promise<OpenStore> {
  const opened = await openStore(factory, { timeZone: 'America/New_York' });
  const { storage, ctx, store } = opened;
  await opened.issue();
  await untilAppended(opened);
  ctx.clock.advance(2 * dayMs);
  await closeAllDays(opened, 100);
  await storage.write(() => addDueCheckpoint(ctx, store));
  await storage.write(() => changeStore(ctx, store.domain, { timeZone: 'Asia/Tokyo' }));
  await opened.issue();
  ctx.clock.advance(2 * dayMs);
  await closeAllDays(opened, 100);
  await untilAppended(opened);
  await storage.write(() => addCheckpoint(ctx, store));
  return opened;
}

type Tampering = {
  readonly what: string;
  readonly statements: readonly Statement[];
  readonly found: RegExp;
};

const lastDay = sql`
  update store_closings set until_at = until_at + 3600000 where day = (select max(day) from store_closings)`;
const newest = sql`delete from checkpoints where id = (select max(id) from checkpoints)`;

const tamperings: readonly Tampering[] = [
  {
    what: 'the end of a day',
    statements: [
      sql`update store_closings set until_at = until_at + 1 where day = (select min(day) from store_closings)`,
    ],
    found: /^the day 2026-03-16 does not begin where the day 2026-03-15 ends$/,
  },
  {
    what: 'the beginning of a day',
    statements: [
      sql`update store_closings set from_at = from_at - 1 where day = (select max(day) from store_closings)`,
    ],
    found: /^the day 2026-03-\d\d does not begin where the day 2026-03-\d\d ends$/,
  },
  {
    what: 'a day that was deleted',
    statements: [sql`delete from store_closings where day = '2026-03-16'`],
    found: /^the day 2026-03-17 does not begin where the day 2026-03-15 ends$/,
  },
  {
    what: 'the end of the last day',
    statements: [lastDay],
    found: /^the day 2026-03-\d\d does not end with a day in a time zone of the store$/,
  },
  {
    what: 'a time zone with its deleted record',
    statements: [sql`update stores set time_zone = 'Asia/Kolkata'`, sql`delete from store_changes`],
    found: /^the day 2026-03-\d\d does not end with a day in a time zone of the store$/,
  },
  {
    what: 'the day of a checkpoint',
    statements: [sql`update checkpoints set day = '2026-03-01' where day is not null`],
    found: /^log: the checkpoint \d+ of the event \d+ has another day than the event$/,
  },
  {
    what: 'the day of a checkpoint, and no day',
    statements: [sql`update checkpoints set day = null where day is not null`],
    found: /^log: the checkpoint \d+ of the event \d+ has another day than the event$/,
  },
  {
    what: 'the time of a checkpoint',
    statements: [sql`update checkpoints set created_at = created_at - 3600000`],
    found: /^log: the checkpoint \d+ of the event \d+ has another created_at than the event$/,
  },
  {
    what: 'a checkpoint of a day that had not ended, whose event is erased',
    statements: [
      sql`update checkpoints set day = '2027-01-01' where day is not null`,
      sql`delete from events where type = 'checkpoint.created'`,
    ],
    found: /^log: the checkpoint \d+ concludes a day that had not ended$/,
  },
  {
    what: 'the newest checkpoint, which was deleted',
    statements: [newest],
    found: /^log: the checkpoint \d+ of the event \d+ does not exist$/,
  },
];

export function testVerifiedDays(factory: StorageFactory): void {
  test('days and checkpoints of a store whose time zone changed are sound', async () => {
    await using days = await openDays(factory);
    assert.deepEqual((await days.storage.read(() => verify(50))).mismatches, []);
  });

  for (const { what, statements, found } of tamperings)
    test(`verify finds a change: ${what}`, async () => {
      await using days = await openDays(factory);
      await days.database.tamper(...statements);
      const { mismatches } = await days.storage.read(() => verify(50));
      assert.ok(
        mismatches.some(({ problem }) => found.test(problem)),
        JSON.stringify(mismatches),
      );
    });
}
