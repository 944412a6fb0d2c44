/** Staff actions with a card, with the names of the tills. */

import { idsAt } from '../../../platform/random.ts';
import type { CardKey } from '../../../core/cards/storage/card.ts';
import type { StaffAction, StaffActionName } from '../../../core/staff/storage/action.ts';
import { all, parallel, sql, toNumber, toNumberOrNull, type Script } from '../../../database/sql/sql.ts';

export type CardStaffAction = Pick<StaffAction, 'id' | 'at' | 'staffId' | 'action' | 'details'> & {
  /** The name of the till; null: the person was not at one. */
  readonly till: string | null;
};

type Row = {
  readonly id: bigint;
  readonly at: bigint;
  readonly staff_id: bigint | null;
  readonly action: string;
  readonly details: string;
  readonly till: string | null;
};

/** An action is written in the transaction of its change. Ids of a burst can be ahead of the clock. */
export const actionSlackMs = 2_000;
const actionsMax = 20;

/** Returns the actions on a card within two seconds of some instants (ms). */
export function* listActionsNear(
  { storeId, cardId }: CardKey,
  instants: readonly number[],
): Script<readonly CardStaffAction[]> {
  const found = yield* parallel(
    ...instants.map((instant) => {
      const [from, upTo] = [instant - actionSlackMs, instant + actionSlackMs].map((at) =>
        Math.max(1, idsAt(at)),
      );
      return all(sql<Row>`
        select a.id, a.at, a.staff_id, a.action, a.details, t.name as till from staff_actions a
        left join tills t on t.store_id = a.store_id and t.id = a.till_id
        where a.store_id = ${storeId} and a.subject_id = ${cardId} and a.id between ${from ?? 1} and ${upTo ?? 1}
        order by a.id desc limit ${actionsMax}`);
    }),
  );
  const actions = new Map(found.flat().map((row) => [row.id, toAction(row)]));
  return [...actions.values()];
}

/** Returns the actions on a card before an id, the newest first, except releases of holds: a hold shows its own. */
export function* listActionsBefore(
  { storeId, cardId }: CardKey,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly CardStaffAction[]> {
  const rows = yield* all(sql<Row>`
    select a.id, a.at, a.staff_id, a.action, a.details, t.name as till from staff_actions a
    left join tills t on t.store_id = a.store_id and t.id = a.till_id
    where a.store_id = ${storeId} and a.subject_id = ${cardId} and a.id < ${before}
      and a.action <> 'hold-released'
    order by a.id desc limit ${limit}`);
  return rows.map(toAction);
}

function toAction({ id, at, staff_id: staffId, action, details, till }: Row): CardStaffAction {
  return {
    id: toNumber(id),
    at: toNumber(at),
    staffId: toNumberOrNull(staffId),
    // Only `insertStaffAction` writes rows.
    action: action as StaffActionName,
    details: JSON.parse(details) as StaffAction['details'],
    till,
  };
}
