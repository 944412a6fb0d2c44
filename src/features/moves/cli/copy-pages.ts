/** Copies rows: page by page, and events of a server in the order of their commits. */

import { lastEventKey, readEventPage } from '../../../core/stores/storage/table.ts';
import type { Storage } from '../../../database/storage.ts';
import type { Key, RowPage, Table, TableRow } from '../../../database/sql/table.ts';
import { atTarget, fromSource } from './copy-sides.ts';

/** Writes rows into the target. */
export type WriteRows = (rows: readonly TableRow[]) => Promise<void>;

/** Copies the pages after a key, and yields the number of rows of each. It reads the next page while it writes one. */
export async function* copyPages({
  read,
  write,
  after,
}: {
  readonly read: (after: Key | undefined) => Promise<RowPage>;
  readonly write: WriteRows;
  readonly after: Key | undefined;
}): AsyncGenerator<number> {
  let page = await read(after);
  while (page.rows.length > 0) {
    const { rows, next } = page;
    const following = next ? read(next) : undefined;
    [page] = await Promise.all([following ?? { rows: [], next: undefined }, write(rows)]);
    yield rows.length;
  }
}

/**
 * Copies the missing events of a store to a server in the order of their commits, in which a server lists them. A file
 * lists them by their ids.
 */
export async function* copyEventsInOrder(
  { source, target }: { readonly source: Storage; readonly target: Storage },
  { events, storeId, write }: { readonly events: Table; readonly storeId: number; readonly write: WriteRows },
): AsyncGenerator<number> {
  yield* copyPages({
    read: (after) => fromSource(source, () => readEventPage(events, storeId, after)),
    async write(rows) {
      for (const part of ascendingParts(rows)) await write(part);
    },
    after: await atTarget(target.read(() => lastEventKey(storeId))),
  });
}

/** Divides rows so that ids rise in each part: a server lists events of one transaction in the order of their ids. */
function ascendingParts(rows: readonly TableRow[]): readonly (readonly TableRow[])[] {
  const parts: TableRow[][] = [];
  let last: bigint | undefined;
  for (const row of rows) {
    const id = row['id'] as bigint;
    if (last === undefined || id < last) parts.push([]);
    parts.at(-1)?.push(row);
    last = id;
  }
  return parts;
}
