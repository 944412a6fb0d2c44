/** The columns that a store remembers: the decisions that their headings alone do not suggest. */

import { columnNames, headingKeyOf, type FileColumn } from '../domain/column-names.ts';
import { guessColumns } from '../domain/columns.ts';
import { findColumnHeadings, saveColumnHeadings } from '../storage/column-headings.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';

/** The latest decisions are kept. */
const rememberedMax = 200;

function columnOf(name: string | null): FileColumn | undefined {
  return name === null ? null : columnNames.find((known) => known === name);
}

/** Returns the columns that were decided, by `headingKeyOf`. */
export function* listRememberedColumns(storeId: number): Script<ReadonlyMap<string, FileColumn>> {
  const saved = yield* findColumnHeadings(storeId);
  return new Map(
    Object.entries(saved).flatMap(([key, name]) => {
      const column = columnOf(name);
      return column === undefined ? [] : [[key, column] as const];
    }),
  );
}

/** Remembers the columns of a file for the next one. */
export function* rememberColumns(
  ctx: Context,
  storeId: number,
  { headings, columns }: { readonly headings: readonly string[]; readonly columns: readonly FileColumn[] },
): Script<void> {
  const before = yield* listRememberedColumns(storeId);
  const after = new Map(before);
  const guessed = guessColumns(headings, new Map());
  for (const [place, heading] of headings.entries()) {
    const column = columns[place];
    const key = headingKeyOf(heading);
    if (column === undefined || key === '') continue;
    after.delete(key);
    if (column !== guessed[place]) after.set(key, column);
  }
  const same = after.size === before.size && [...after].every(([key, column]) => before.get(key) === column);
  if (same) return;
  yield* saveColumnHeadings(ctx, storeId, Object.fromEntries([...after].slice(-rememberedMax)));
}
