/**
 * A planted bug: an engine that responds before it commits. Tests that prove durability must detect it.
 *
 * It lets the real engine run a script and roll it back, responds, and writes a little later what the script
 * would have written. It runs one script at a time: only the order of response and commit is wrong.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { Script, Statement } from '../../src/database/sql/sql.ts';
import {
  openPostgres as openRealPostgres,
  type PostgresOptions,
} from '../../src/database/postgres/engine.ts';
import { openSqlite as openRealSqlite } from '../../src/database/sqlite/engine.ts';
import type { SqliteOptions } from '../../src/database/sqlite/options.ts';
import type { Storage } from '../../src/database/storage.ts';

const commitDelayMs = 40;

/** Replaces the function of this name in `src/database/sqlite/engine.ts`. */
export function openSqlite(options: SqliteOptions): Storage {
  return respondingEarly(openRealSqlite(options));
}

/** Replaces the function of this name in `src/database/postgres/engine.ts`. */
export function openPostgres(options: PostgresOptions): Storage {
  return respondingEarly(openRealPostgres(options));
}

function respondingEarly(storage: Storage): Storage {
  let last: Promise<unknown> = Promise.resolve();
  return {
    read: (script) => storage.read(script),
    dryRun: (script) => storage.dryRun(script),
    cache: (limits) => storage.cache(limits),
    migrate: (migrations) => storage.migrate(migrations),
    applied: () => storage.applied(),
    backup: storage.backup,
    clearDeleted: () => storage.clearDeleted(),
    hasRemains: () => storage.hasRemains(),
    distribute: storage.distribute,
    isDistributed: storage.isDistributed,
    get queueDepth() {
      return storage.queueDepth;
    },
    write(script) {
      const ran = last.then(async () => {
        const log: Statement[] = [];
        const result = await storage.dryRun(() => recording(script(), log));
        return { result, log };
      });
      last = ran.then(
        async ({ log }) => {
          await wait(commitDelayMs);
          await storage.write(() => playing(log));
        },
        () => undefined,
      );
      return ran.then(({ result }) => result);
    },
    async [Symbol.asyncDispose]() {
      await last;
      await storage[Symbol.asyncDispose]();
    },
  };
}

/** Runs a script and records its statements. */
function* recording<T>(script: Script<T>, log: Statement[]): Script<T> {
  log.length = 0;
  let step = script.next([]);
  while (!step.done) {
    log.push(...step.value.statements);
    step = script.next(yield step.value);
  }
  return step.value;
}

function* playing(log: readonly Statement[]): Script<void> {
  yield { statements: log, isAwaited: true };
}
