/** The recent activity of a store: movements of cards, and emails that could not be delivered. */

import { takenBackBy, type EntryAction } from '../../till/domain/till-day.ts';
import type { EntryPlaces } from '../../../core/stores/domain/location.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import { listActionsNear } from '../../card-pages/storage/staff-action.ts';
import { listNewestFailures, listNewestMovements, type Activity } from '../storage/today.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { entryIdOf } from '../../../core/staff/service/as-staff.ts';
import { listActors, type Actors } from '../../../core/staff/service/actors.ts';

const activitiesMax = 10;
/** The newest events among which failed emails are looked for. */
const eventsMax = 40;

/** The newest activity of a store, and the names of those who acted. */
export type RecentActivity = {
  /** The newest first. */
  readonly activities: readonly Activity[];
  readonly actors: Actors;
  /** The transfers that undo a redemption or cancel a sale, by their ids. */
  readonly takenBack: ReadonlyMap<number, NonNullable<EntryAction['part']>>;
};

export function* findRecentActivity(
  ctx: Pick<Context, 'keys'>,
  store: Store,
  places: EntryPlaces,
): Script<RecentActivity> {
  const [movements, failures, actors] = yield* parallel(
    listNewestMovements(store, { places, limit: activitiesMax }),
    listNewestFailures(store.id, { events: eventsMax, places }),
    listActors(store),
  );
  const activities = [...movements, ...failures].toSorted((left, right) => right.id - left.id);
  const shown = activities.slice(0, activitiesMax);
  return { activities: shown, actors, takenBack: yield* findTakenBack(ctx, store, shown) };
}

/** Asks the audit log about the reversals that staff made: the ledger does not say why an entry was reversed. */
function* findTakenBack(
  ctx: Pick<Context, 'keys'>,
  { id: storeId }: Store,
  activities: readonly Activity[],
): Script<RecentActivity['takenBack']> {
  const reversals = activities.filter(
    ({ transfer }) => transfer?.kind === 'reversal' && transfer.actor.startsWith('staff:'),
  );
  const found = yield* parallel(
    ...reversals.map(({ cardId, at }) => listActionsNear({ storeId, cardId }, [at])),
  );
  const takenBack = new Map<number, NonNullable<EntryAction['part']>>();
  for (const action of found.flat()) {
    const id = entryIdOf(ctx, action);
    const part = takenBackBy(action);
    if (id !== undefined && part !== null) takenBack.set(id, part);
  }
  return takenBack;
}
