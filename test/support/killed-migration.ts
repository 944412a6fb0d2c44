/**
 * Migrates a database, and is killed when it records the migration with the given number:
 * `killed-migration.ts <sqlite | postgres> <file or URL> <partitions> <number>`.
 */

import { liveClock, systemClock, type Clock } from '../../src/platform/clock.ts';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import { openPostgresEngine } from './postgres.ts';
import { openEngine } from './sqlite.ts';

const [engine, location = '', partitions = '', number = ''] = process.argv.slice(2);
let left = Number(number);
const clock: Clock = {
  ...liveClock(systemClock),

  now(): number {
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    return systemClock.now();
  },
};
const storage =
  engine === 'sqlite'
    ? openEngine(location, { clock })
    : openPostgresEngine(location, { clock, partitions: partitions === '' ? null : Number(partitions) });
await storage.migrate(loadMigrations(engine === 'sqlite' ? 'sqlite' : 'postgres'));
