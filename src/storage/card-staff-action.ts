/** What members of staff did with a card, with the names of the tills. */

import { idsAt } from '../random.ts';
import type { StaffAction, StaffActionName } from './staff-action.ts';
import { all, parallel, sql, toNumber, toNumberOrNull, type Script } from './sql.ts';

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
const slackMs = 2_000;
const actionsMax = 20;

/**
 * Returns the actions on a card within two seconds of some instants (ms). The audit log has no index of cards; its ids
 * grow with time, so each instant is a short stretch of its key.
 */
export function* listActionsNear(
  storeId: number,
  cardId: number,
  instants: readonly number[],
): Script<readonly CardStaffAction[]> {
  const found = yield* parallel(
    ...instants.map((instant) =>
      all(sql<Row>`
        select a.id, a.at, a.staff_id, a.action, a.details, t.name as till from staff_actions a
        left join tills t on t.store_id = a.store_id and t.id = a.till_id
        where a.store_id = ${storeId} and a.id between ${Math.max(1, idsAt(instant - slackMs))} and ${Math.max(1, idsAt(instant + slackMs))}
          and a.subject_id = ${cardId}
        order by a.id desc limit ${actionsMax}`),
    ),
  );
  const actions = new Map(found.flat().map((row) => [row.id, toAction(row)]));
  return [...actions.values()];
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
