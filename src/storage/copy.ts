/** That this database is the target of a copy, and how far that has come; and what tells one database from another. */

import { all, first, one, run, sql, toNumber, type Script } from './sql.ts';

export type CopyState = 'copying' | 'complete' | 'failed';

export type Copy = {
  /** Stands for the database that is copied. */
  readonly source: string;
  readonly sourceShown: string;
  readonly run: string;
  readonly state: CopyState;
  readonly startedAt: number;
};

export function* findCopy(): Script<Copy | undefined> {
  const row = yield* first(
    sql<{
      source: string;
      source_shown: string;
      run: string;
      state: CopyState;
      started_at: bigint;
    }>`select source, source_shown, run, state, started_at from copies where id = 1`,
  );
  return (
    row && {
      source: row.source,
      sourceShown: row.source_shown,
      run: row.run,
      state: row.state,
      startedAt: toNumber(row.started_at),
    }
  );
}

export function* insertCopy({ source, sourceShown, run: runId, state, startedAt }: Copy): Script<void> {
  yield* run(sql`
    insert into copies (id, source, source_shown, run, state, started_at)
    values (1, ${source}, ${sourceShown}, ${runId}, ${state}, ${startedAt})`);
}

/** Puts one run in the place of another one, whose pages are refused from here on. */
export function* replaceRun(runId: string): Script<void> {
  yield* run(sql`update copies set run = ${runId} where id = 1 and state = 'copying'`);
}

/** Whether the copy is still this run's; if so, it stays so until the transaction ends. */
export function* keepRun(runId: string): Script<boolean> {
  const rows = yield* all(sql`
    update copies set run = ${runId} where id = 1 and run = ${runId} and state = 'copying' returning id`);
  return rows.length === 1;
}

/** Ends the copy, if it is still this run's. */
export function* endCopy(
  runId: string,
  { state, at }: { readonly state: Exclude<CopyState, 'copying'>; readonly at: number },
): Script<boolean> {
  const rows = yield* all(sql`
    update copies set state = ${state}, ended_at = ${at}
    where id = 1 and run = ${runId} and state = 'copying' returning id`);
  return rows.length === 1;
}

/** Takes the mark of a copy away that has copied nothing. */
export function* removeCopy(runId: string): Script<void> {
  yield* run(sql`delete from copies where id = 1 and run = ${runId}`);
}

/** What a database was made with, and no other one: when, and the first key. It stays when keys are rotated. */
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
