/** Appends entries to the logs, as the service's job does in several runs. */

import type { Context } from '../../src/core/storage/context.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { findLog } from '../../src/core/log/storage/log.ts';
import { one, sql, type Script } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { until } from './delivering.ts';
import { appendNewEntries } from './upkeep.ts';

type Opened = { readonly storage: Storage; readonly ctx: Context; readonly store: Store };

/** Appends everything. PostgreSQL appends an entry after every older transaction of the server has ended. */
export async function appendAll(storage: Storage, ctx: Context): Promise<void> {
  while (await storage.write(() => appendNewEntries(ctx)));
}

/** Appends until the store's log has every entry. */
export async function untilAppended({ storage, ctx, store }: Opened): Promise<void> {
  await until(async () => {
    await appendAll(storage, ctx);
    const { entries } = await storage.read(() => countEntries(store.id));
    return BigInt(await sizeOfLog(storage, store)) === entries;
  });
}

function* countEntries(storeId: number): Script<{ readonly entries: bigint }> {
  return yield* one(sql<{ entries: bigint }>`
    select (select count(*) from transfers where store_id = ${storeId})
      + (select count(*) from card_changes where store_id = ${storeId}) as entries`);
}

export async function sizeOfLog(storage: Storage, { id }: Pick<Store, 'id'>): Promise<number> {
  return (await storage.read(() => findLog(id)))?.size ?? 0;
}
