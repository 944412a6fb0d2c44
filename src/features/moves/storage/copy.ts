/** The record that this database is the target of a copy, and the identity of a database. */

import { columns, integer, unchanged, text, type RowOf } from '../../../database/sql/columns.ts';
import { all, first, one, execute, sql, type Script } from '../../../database/sql/sql.ts';

export type CopyState = 'copying' | 'complete' | 'failed';

export type Copy = {
  /** Identifies the source database. */
  readonly source: string;
  readonly sourceShown: string;
  readonly run: string;
  readonly state: CopyState;
  readonly startedAt: number;
};

const copies = columns({
  source: text('source'),
  source_shown: text('sourceShown'),
  run: text('run'),
  state: unchanged<CopyState>()('state'),
  started_at: integer('startedAt'),
});

export function* findCopy(): Script<Copy | undefined> {
  const row = yield* first(sql<RowOf<typeof copies>>`select ${copies.names} from copies where id = 1`);
  return row && copies.read(row);
}

export function* insertCopy(copy: Copy): Script<void> {
  yield* execute(sql`insert into copies (id, ${copies.names}) values (1, ${copies.values(copy)})`);
}

/** Replaces the current run. Pages of the previous run are rejected from then on. */
export function* replaceRun(runId: string): Script<void> {
  yield* execute(sql`update copies set run = ${runId} where id = 1 and state = 'copying'`);
}

/** Returns whether the copy belongs to this run, and locks it until the transaction ends. */
export function* keepRun(runId: string): Script<boolean> {
  const rows = yield* all(sql`
    update copies set run = ${runId} where id = 1 and run = ${runId} and state = 'copying' returning id`);
  return rows.length === 1;
}

/** Ends the copy. Returns false if it does not belong to this run. */
export function* endCopy(
  runId: string,
  { state, at }: { readonly state: Exclude<CopyState, 'copying'>; readonly at: number },
): Script<boolean> {
  const rows = yield* all(sql`
    update copies set state = ${state}, ended_at = ${at}
    where id = 1 and run = ${runId} and state = 'copying' returning id`);
  return rows.length === 1;
}

/** Deletes the record of a copy that has not copied any rows. */
export function* removeCopy(runId: string): Script<void> {
  yield* execute(sql`delete from copies where id = 1 and run = ${runId}`);
}

/**
 * Returns a text that identifies the database: the time of its first migration, and its first key. Key rotation
 * does not change it.
 */
export function* readOrigin(): Script<string> {
  const { applied_at: madeAt } = yield* one(
    sql<{ applied_at: bigint }>`select applied_at from schema_migrations order by version limit 1`,
  );
  const key = yield* first(
    sql<{ key_id: string; digest: Uint8Array }>`
      select key_id, digest from key_checks order by created_at, key_id limit 1`,
  );
  return `${madeAt} ${key?.key_id ?? ''} ${key ? Buffer.from(key.digest).toString('hex') : ''}`;
}
