/** The writes of an operation to SQLite: bytes of the write-ahead log and pages, by B-tree. */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { connect } from '../src/database/sqlite/connection.ts';
import type { ScriptMaker } from './scripts.ts';

/** Means over all operations of a kind. */
export type WritesPerOperation = {
  readonly operation: string;
  /** Appended to the write-ahead log. */
  readonly logBytes: number;
  /** Pages written, each once in a transaction. */
  readonly pages: number;
  /** The same for each table and index. */
  readonly pagesByTree: Readonly<Record<string, number>>;
};

/** The groups in which 64 callers are served have about this size. */
export const scriptsPerTransaction = 32;
const fileHeaderBytes = 32;
const frameHeaderBytes = 24;

/** Runs each kind of script so many times on a database that no other process uses. */
export function measureWrites(
  file: string,
  { scripts, transactions }: Readonly<{ scripts: Record<string, ScriptMaker>; transactions: number }>,
): readonly WritesPerOperation[] {
  const { database, beginImmediate, commit, drive } = connect(file, { readOnly: false });
  using _closing = database;
  const [{ page_size: size = 0n } = {}] = database.prepare('pragma page_size').all();
  const pageBytes = Number(size);
  return Object.entries(scripts).map(([operation, script]) => {
    database.exec('pragma wal_checkpoint(truncate)');
    for (let count = 0; count < transactions; count += 1) {
      beginImmediate();
      for (let place = 0; place < scriptsPerTransaction; place += 1) drive(script());
      commit();
    }
    const operations = transactions * scriptsPerTransaction;
    const written = pagesIn(`${file}-wal`, pageBytes);
    const trees = treesOf(database, new Set(written));
    const byTree = Map.groupBy(written, (page) => trees.get(page) ?? 'free');
    const shares = Array.from(byTree, ([name, { length }]) => [name, length / operations] as const);
    return {
      operation,
      logBytes: statSync(`${file}-wal`).size / operations,
      pages: written.length / operations,
      pagesByTree: Object.fromEntries(shares.toSorted(([, one], [, other]) => other - one)),
    };
  });
}

/** The table or index of each of the pages. */
function treesOf(database: DatabaseSync, pages: ReadonlySet<number>): ReadonlyMap<number, string> {
  const trees = new Map<number, string>();
  // There may be millions of pages.
  for (const { pageno, name } of database.prepare('select pageno, name from dbstat').iterate())
    if (pages.has(Number(pageno))) trees.set(Number(pageno), String(name));
  return trees;
}

/** The page number of every frame (https://www.sqlite.org/fileformat2.html#walformat). */
function pagesIn(log: string, pageBytes: number): readonly number[] {
  const frameBytes = frameHeaderBytes + pageBytes;
  const frames = Math.floor((statSync(log).size - fileHeaderBytes) / frameBytes);
  const descriptor = openSync(log, 'r');
  const header = Buffer.alloc(4);
  const pages = Array.from({ length: frames }, (_, frame) => {
    readSync(descriptor, header, { position: fileHeaderBytes + frame * frameBytes });
    return header.readUInt32BE();
  });
  closeSync(descriptor);
  return pages;
}
