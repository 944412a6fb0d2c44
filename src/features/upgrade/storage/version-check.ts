/** The one row about new versions of the program. */

import type { VersionCheck } from '../domain/versions.ts';
import { columns, integer, integerOrNull, textOrNull, type RowOf } from '../../../database/sql/columns.ts';
import { execute, first, one, sql, type Script } from '../../../database/sql/sql.ts';

const row = columns({
  is_wanted: integerOrNull('wanted'),
  decided_at: integerOrNull('decidedAt'),
  next_at: integerOrNull('nextAt'),
  newest: textOrNull('newest'),
  list_key: textOrNull('listKey'),
  published_at: integerOrNull('publishedAt'),
  checked_at: integerOrNull('checkedAt'),
  failures: integer('failures'),
  failed_at: integerOrNull('failedAt'),
  problem: textOrNull('problem'),
});

export function* findVersionCheck(): Script<VersionCheck> {
  const found = yield* one(sql<RowOf<typeof row>>`select ${row.names} from version_check where id = 1`);
  const { wanted, ...check } = row.read(found);
  return { ...check, isWanted: wanted === null ? null : wanted === 1 };
}

/** Stores the decision of an owner, and forgets failures. The next list is read at once. */
export function* saveVersionDecision(isWanted: boolean, now: number): Script<void> {
  yield* execute(sql`
    update version_check set is_wanted = ${Number(isWanted)}, decided_at = ${now}, next_at = null, failures = 0,
      failed_at = null, problem = null
    where id = 1`);
}

/**
 * Plans the next request before this one is made, so that of several processes one makes it.
 * @param expected the time that was planned. @returns false if another process has planned it.
 */
export function* claimVersionCheck(expected: number | null, nextAt: number): Script<boolean> {
  const claimed = yield* first(sql<{ id: bigint }>`
    update version_check set next_at = ${nextAt} where id = 1 and coalesce(next_at, -1) = ${expected ?? -1}
    returning id`);
  return claimed !== undefined;
}

/** Records a list that was accepted. */
export function* saveNewestVersion({
  newest,
  listKey,
  publishedAt,
  checkedAt,
}: {
  readonly [Field in 'newest' | 'listKey' | 'publishedAt' | 'checkedAt']: NonNullable<VersionCheck[Field]>;
}): Script<void> {
  yield* execute(sql`
    update version_check set newest = ${newest}, list_key = ${listKey}, published_at = ${publishedAt},
      checked_at = ${checkedAt}, failures = 0, failed_at = null, problem = null
    where id = 1`);
}

/** Counts a failure in a row. */
export function* saveVersionFailure(problem: string, failedAt: number): Script<void> {
  yield* execute(sql`
    update version_check set failures = failures + 1, failed_at = ${failedAt}, problem = ${problem} where id = 1`);
}
