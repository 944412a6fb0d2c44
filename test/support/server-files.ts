/**
 * The files that run on SQLite in `npm test` and on PostgreSQL in the soak. Requests of the API send the statements of the
 * conformance suite, which runs on both engines, so of `test/http` only these files repeat: those that send others, and
 * those about errors, locks and clocks of a server.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const onSqliteFirst = /^test\/(?:http|money|race)\/(?!.*\.(?:sqlite|postgres)\.test\.ts$)/;

/** Folders in which every file repeats: concurrent requests, whose order the engine decides. */
const folders = /^test\/(?:money|race)\//;

/** Files about errors, locks, clocks and concurrent requests, which depend on the server. */
const aboutServers = [
  'client',
  'clock',
  'clock-start',
  'console-backups-server',
  'console-today',
  'errors',
  'idempotency',
  'sandbox',
  'trace-deliveries',
];

/** Files with statements that no other test sends to PostgreSQL. */
const withOwnStatements = [
  'accountant-email',
  'as-of',
  'buy',
  'card-history',
  'checkpoints',
  'client-operations',
  'console-developers',
  'console-email-server',
  'console-failed-sign-ins',
  'console-online-sales',
  'console-passkeys',
  'console-sign-in-limits',
  'console-till-pin',
  'console-versions',
  'console-wording',
  'customers',
  'locations',
  'online-sale-settings',
  'payment-notifications',
  'privacy',
  'retention',
  'sandbox-payments',
  'suspension',
  'test-clock',
  'wallets',
];

/** The files of `test/http` that repeat. */
export const repeated: ReadonlySet<string> = new Set(
  [...aboutServers, ...withOwnStatements].map((name) => `test/http/${name}.test.ts`),
);

/** The suites of both engines. A part of them runs on PostgreSQL only in the soak. */
const conformance = 'test/conformance/sqlite.test.ts';

/** The characters of a statement that identify it. */
const textMax = 200;

/** Whether `npm test` runs a file on SQLite only. */
export function isOnSqliteFirst(file: string): boolean {
  return onSqliteFirst.test(file);
}

/** Whether the soak runs it again on PostgreSQL. */
export function isOnServerLater(file: string): boolean {
  return onSqliteFirst.test(file) && (folders.test(file) || repeated.has(file));
}

/** A file, the engine, and the text of a statement that it sent (`recorded-statements.ts`). */
export type Sent = readonly [file: string, engine: string, text: string];

/** Reads what the processes of a run have recorded. */
export function readSent(folder: string): readonly Sent[] {
  return readdirSync(folder).flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Sent),
  );
}

/**
 * Returns the files of `test/http` that send statements which no file sends to PostgreSQL, neither in the same run nor in the
 * soak, each with a sentence about it.
 */
export function unrepeated(sent: readonly Sent[]): ReadonlyMap<string, string> {
  const onServer = new Set<string>();
  for (const [file, engine, text] of sent)
    if (engine === 'postgres' || file === conformance || isOnServerLater(file)) onServer.add(text);
  const missing = new Map<string, string[]>();
  for (const [file, , text] of sent) {
    if (!file.startsWith('test/http/') || onServer.has(text)) continue;
    missing.set(file, [...(missing.get(file) ?? []), text]);
  }
  return new Map(
    [...missing].map(([file, texts]) => [
      file,
      `${file} sends statements that no test sends to PostgreSQL. Test them in test/conformance, or add the file to ` +
        `test/support/server-files.ts: ${texts.map((text) => text.trim().replace(/\s+/g, ' ').slice(0, textMax)).join('; ')}`,
    ]),
  );
}
