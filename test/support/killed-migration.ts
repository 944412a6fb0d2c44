/**
 * Migrates a database, and is killed when the migration needs random bytes for the given time:
 * `killed-migration.ts <sqlite | postgres> <file or URL> <partitions> <time>`.
 */

import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { loadMigrations } from '../../src/storage/schema/migrate.ts';
import { openPostgresEngine } from './postgres.ts';
import { openEngine } from './sqlite.ts';

const [engine, location = '', partitions = '', time = ''] = process.argv.slice(2);
let left = Number(time);
const system = systemRandom(systemClock);
const random = {
  ...system,
  bytes(length: number): Uint8Array {
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    return system.bytes(length);
  },
};
const storage =
  engine === 'sqlite'
    ? openEngine(location, { random })
    : openPostgresEngine(location, { random, partitions: partitions === '' ? null : Number(partitions) });
await storage.migrate(loadMigrations(engine === 'sqlite' ? 'sqlite' : 'postgres'));
