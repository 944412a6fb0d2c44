/**
 * A program that writes to a database file until the database fails, tests what still works, and prints its
 * findings as JSON. Tests start it where a file or a disk cannot grow.
 *
 * `node filling-writer.ts <file> [<ballast>]` removes the ballast file after the first failure, to free
 * space.
 */

import { rmSync } from 'node:fs';
import { Fault } from '../../src/core/domain/fault.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { openEngine, sqliteFactory } from './sqlite.ts';
import { insertRow, listRows } from './row-counts.ts';

export type Findings = {
  /** Rows whose write was acknowledged. */
  readonly acknowledged: readonly string[];
  /** The rejected rows of the failed turn, and the error code of each. */
  readonly rejected: readonly { readonly row: string; readonly code: string }[];
  /** The number of engine failures that were reported. */
  readonly failures: number;
  /** The result of a read after the failure: the number of rows, or an error code. */
  readonly readAfter: number | string;
  /** The result of a write after the failure, once space is free. */
  readonly writeAfter: string;
};

const [file = '', ballast] = process.argv.slice(2);
const perTurn = 20;
const turnsMax = 2_000;
const padding = 'x'.repeat(2_000);
let failures = 0;

const engine = openEngine(file, {
  observer: {
    committed() {},
    failed() {
      failures += 1;
    },
  },
});

function codeOf(error: unknown): string {
  return error instanceof Fault ? error.code : String(error);
}

const resultOrCode = <T>(response: Promise<T>): Promise<T | string> => response.catch(codeOf);

const write = (row: string, id: number): Promise<void> =>
  engine.write(function* (): Script<void> {
    yield* insertRow(id, `${row} ${padding}`);
  });

const rowsRead = async (): Promise<number> => (await engine.read(listRows)).length;

await engine.migrate(sqliteFactory.migrations);
const acknowledged: string[] = [];
const rejected: { row: string; code: string }[] = [];
for (let turn = 0; turn < turnsMax && rejected.length === 0; turn += 1) {
  const rows = Array.from({ length: perTurn }, (_, index) => turn * perTurn + index + 1);
  const outcomes = await Promise.allSettled(rows.map((id) => write(`row-${id}`, id)));
  for (const [index, outcome] of outcomes.entries()) {
    const row = `row-${rows[index]}`;
    if (outcome.status === 'fulfilled') acknowledged.push(row);
    else rejected.push({ row, code: codeOf(outcome.reason) });
  }
}
const readAfter = await resultOrCode(rowsRead());
if (ballast !== undefined) rmSync(ballast);
const writeAfter = (await resultOrCode(write('row-after', 1_000_000))) ?? 'done';
if (writeAfter === 'done') acknowledged.push('row-after');
const findings: Findings = { acknowledged, rejected, failures, readAfter, writeAfter };
process.stdout.write(`${JSON.stringify(findings)}\n`);
await engine[Symbol.asyncDispose]();
