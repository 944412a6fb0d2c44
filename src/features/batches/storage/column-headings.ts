/** The decisions of staff about the headings of imported files. */

import type { Context } from '../../../core/storage/context.ts';
import { execute, first, sql, type Script } from '../../../database/sql/sql.ts';

/** Returns the columns by the keys of their headings, the latest decision last, as they were saved. */
export function* findColumnHeadings(storeId: number): Script<Readonly<Record<string, string | null>>> {
  const row = yield* first(sql<{ readonly columns: string }>`
    select columns from column_headings where store_id = ${storeId}`);
  return row ? (JSON.parse(row.columns) as Readonly<Record<string, string | null>>) : {};
}

export function* saveColumnHeadings(
  ctx: Context,
  storeId: number,
  columns: Readonly<Record<string, string | null>>,
): Script<void> {
  yield* execute(sql`
    insert into column_headings (store_id, columns, updated_at)
    values (${storeId}, ${JSON.stringify(columns)}, ${ctx.clock.now()})
    on conflict (store_id) do update set columns = excluded.columns, updated_at = excluded.updated_at`);
}
