/**
 * The steps before a shop opens that the service cannot always find out. `restored_copy` is the opposite of one: a backup was
 * restored on another machine, and no owner has confirmed it yet. Its time is that of the backup.
 */

import { columns, integer, integerOrNull, unchanged, type RowOf } from '../../../database/sql/columns.ts';
import { all, execute, first, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

const setupStepNames = ['key_file', 'backup', 'restored_copy'] as const;

export type SetupStepName = (typeof setupStepNames)[number];

export type SetupStep = {
  readonly storeId: number;
  readonly step: SetupStepName;
  /** Instant in ms. */
  readonly doneAt: number;
  /** Null: the command line. */
  readonly staffId: number | null;
};

const steps = columns({
  store_id: integer('storeId'),
  step: unchanged<SetupStepName>()('step'),
  done_at: integer('doneAt'),
  staff_id: integerOrNull('staffId'),
});

type StepRow = RowOf<typeof steps>;

/** More stores than an embedded database has. */
const storesMax = 10_000;

/** Records that a step is done; repeated, when it was done last. */
export function* saveSetupStep(step: SetupStep): Script<void> {
  yield* execute(sql`
    insert into setup_steps (${steps.names}) values (${steps.values(step)})
    on conflict (store_id, step) do update set ${steps.excluded}`);
}

export function* listSetupSteps(storeId: number): Script<readonly SetupStep[]> {
  const rows = yield* all(sql<StepRow>`select ${steps.names} from setup_steps where store_id = ${storeId}`);
  return rows.map(steps.read);
}

/** @returns false if it was not recorded. */
export function* removeSetupStep({ storeId, step }: Pick<SetupStep, 'storeId' | 'step'>): Script<boolean> {
  const row = yield* first(sql<{ step: string }>`
    delete from setup_steps where store_id = ${storeId} and step = ${step} returning step`);
  return row !== undefined;
}

/** Returns the steps of all stores that no owner has confirmed since a restore. */
export function* listRestoredCopies(): Script<readonly SetupStep[]> {
  const rows = yield* all(
    sql<StepRow>`select ${steps.names} from setup_steps where step = 'restored_copy' limit ${storesMax}`,
  );
  return rows.map(steps.read);
}

/** When the last backup of the database was recorded, for any store, in ms; null if none was. */
export function* findLastBackup(): Script<number | null> {
  const { last } = yield* one(
    sql<{ last: bigint | null }>`select max(done_at) as last from setup_steps where step = 'backup'`,
  );
  return last === null ? null : toNumber(last);
}
