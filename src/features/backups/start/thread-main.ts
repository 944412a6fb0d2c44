/** The main module of the thread in `thread.ts`. */

import { errorText } from '../../../platform/system-error.ts';
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, readFileSync, statSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { backup, DatabaseSync } from 'node:sqlite';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { codeOf } from '../../../platform/error-code.ts';
import { SealedBackupError } from '../platform/error.ts';
import { openBackup } from '../platform/open.ts';
import { sealBackup } from '../platform/seal.ts';
import { Secret } from '../../../platform/secret.ts';
import { verify, type Verification } from '../../proofs/service/verify.ts';
import { MigrationError } from '../../../database/schema/migration-error.ts';
import { inspectFile } from '../../../database/sqlite/inspection.ts';
import type { DatabaseConfig } from '../../../start/config.ts';
import { openDatabase } from '../../../start/database.ts';
import type { OpenOrder, OpenReport, ThreadReport, SealOrder, SealReport } from './thread.ts';
import { nameSourcesInStacks } from '../../../platform/stack-traces.ts';

nameSourcesInStacks();

/** The value of nice(1), as for webhooks: requests have priority. */
const niceness = 10;

/** Only the first problem is reported. `largesse verify` lists them all. */
const mismatchesMax = 10;

/** Copies a database in one step, with a connection of its own. */
async function copyDatabase(file: string, target: string): Promise<void> {
  const source = new DatabaseSync(file, { readOnly: true });
  try {
    await backup(source, target, { rate: 2 ** 31 - 1 });
  } finally {
    source.close();
  }
}

/**
 * Verifies a copy and its rows. @param isMigrated whether an earlier version of the program may have made it.
 * @throws Error if it cannot be opened, such as with other keys.
 */
async function verifyCopyOf(
  config: DatabaseConfig,
  {
    copy,
    keysFile,
    isMigrated = false,
  }: { readonly copy: string; readonly keysFile: string; readonly isMigrated?: boolean },
): Promise<Verification> {
  const damage = inspectFile(copy).map((problem) => ({ store: null, cardId: null, problem }));
  if (damage.length > 0) return { stores: [], mismatches: damage };
  const options = { prepare: isMigrated, recordsKeys: false, withoutTimeLimit: true };
  await using database = await openDatabase(
    { ...config, keysFile, database: { kind: 'file', file: copy } },
    options,
  );
  const { keys } = database.ctx;
  return await database.storage.read(() => verify(mismatchesMax, { keys, reached() {} }));
}

async function seal({ config, files, recipient, macKey, at }: SealOrder): Promise<SealReport> {
  assert(config.database.kind === 'file');
  await copyDatabase(config.database.file, files.copy);
  const { mismatches } = await verifyCopyOf(config, { copy: files.copy, keysFile: config.keysFile });
  const [first] = mismatches;
  if (first) return { kind: 'damaged', problem: first.problem };
  const keys = readFileSync(config.keysFile);
  const parts = await sealBackup({ database: files.copy, keys, at }, { recipient, macKey });
  const hash = createHash('sha256');
  let bytes = 0;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  await pipeline(parts, counted, createWriteStream(files.sealed, { flags: 'wx', mode: 0o600, flush: true }));
  return { kind: 'sealed', bytes, databaseBytes: statSync(files.copy).size, sha256: hash.digest('hex') };
}

function failed(problem: OpenReport['problem']): OpenReport {
  return { kind: 'opened', problem, at: 0, stores: [] };
}

async function tryOpening({ config, files, identity, databaseBytesMax }: OpenOrder): Promise<OpenReport> {
  let at: number;
  try {
    const opened = await openBackup(createReadStream(files.sealed), {
      identity: new Secret(identity),
      database: files.copy,
      databaseBytesMax,
    });
    writeFileSync(files.keys, opened.keys, { flag: 'wx', mode: 0o600, flush: true });
    ({ at } = opened);
  } catch (error) {
    if (error instanceof SealedBackupError) return failed(error.problem);
    throw error;
  }
  try {
    const copied = { copy: files.copy, keysFile: files.keys, isMigrated: true };
    const { stores, mismatches } = await verifyCopyOf(config, copied);
    return {
      kind: 'opened',
      problem: mismatches.length > 0 ? 'mismatches' : null,
      at,
      stores: stores.map(({ store, currency, cards, outstanding }) => ({
        store,
        currency,
        cards,
        outstanding: String(outstanding),
      })),
    };
  } catch (error) {
    return failed(error instanceof MigrationError ? 'newer' : 'unreadable');
  }
}

async function run(order: SealOrder | OpenOrder): Promise<ThreadReport> {
  try {
    return order.kind === 'seal' ? await seal(order) : await tryOpening(order);
  } catch (error) {
    return {
      kind: 'failed',
      code: codeOf(error),
      message: errorText(error),
    };
  }
}

assert(parentPort, 'this module runs as a thread');
// Only Linux has a priority per thread.
if (process.platform === 'linux') setPriority(niceness);
const port = parentPort;
void run(workerData as SealOrder | OpenOrder).then((report) => port.postMessage(report));
