/** The parts of a CSV file of the API and the command line. */

import { csvOf, csvRowsOf } from '../domain/csv.ts';
import type { ExportTable } from '../domain/export-table.ts';

/** Columns have the names of the API, with commas and points. */
export async function* csvOfTable({ columns, parts }: ExportTable): AsyncGenerator<string, void> {
  yield csvOf(columns, []);
  for await (const rows of parts) if (rows.length > 0) yield csvRowsOf(columns, rows);
}
