/**
 * Selects the engine of this process's tests. `npm test` runs a file once for each engine, and sets
 * `TEST_ENGINE`.
 */

import type { Engine, EngineId } from './engine-database.ts';
import { postgresEngine } from './engine-postgres.ts';
import { sqliteEngine } from './engine-sqlite.ts';

const engines: Readonly<Record<EngineId, Engine>> = { sqlite: sqliteEngine, postgres: postgresEngine };

function chosen(name: string): Engine {
  const found = Object.values(engines).find(({ id }) => id === name);
  if (!found) throw new Error(`TEST_ENGINE=${name}: takes ${Object.keys(engines).join(' or ')}`);
  return found;
}

export const engine: Engine = chosen(process.env['TEST_ENGINE'] || 'sqlite');
