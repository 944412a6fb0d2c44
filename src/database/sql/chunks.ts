/** Rows of several stores, divided for statements that each name one store and have the same number of values. */

import { ValueList, type SqlValue } from './sql.ts';

/** Rows that one statement names. */
const chunkMax = 20;

/** Returns the rows by store, in the order in which the stores occur, in chunks of at most 20. */
export function inChunks<Row extends { readonly storeId: number }>(
  rows: readonly Row[],
): readonly { readonly storeId: number; readonly chunk: readonly Row[] }[] {
  return [...Map.groupBy(rows, ({ storeId }) => storeId)].flatMap(([storeId, own]) =>
    Array.from({ length: Math.ceil(own.length / chunkMax) }, (_, place) => ({
      storeId,
      chunk: own.slice(place * chunkMax, (place + 1) * chunkMax),
    })),
  );
}

/** The values of a chunk, with a value that no row has in place of missing ones. */
export function padded(values: readonly SqlValue[], none: SqlValue): ValueList {
  return new ValueList(Array.from({ length: chunkMax }, (_, place) => values[place] ?? none));
}
