/** The tests of the pages for staff on PostgreSQL. `npm test` runs them on SQLite, and the services behind them on both. */

import { globSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../http');

// These two compare pages with the books or read a file as only SQLite has one.
const onlySqlite = ['console-cards', 'console-chart', 'console-export'];

for (const name of globSync('console*.sqlite.test.ts', { cwd: folder }).toSorted())
  if (!onlySqlite.some((prefix) => name.startsWith(prefix))) await import(join(folder, name));
