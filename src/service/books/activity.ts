/** The recent activity of a store: movements of cards, and emails that could not be delivered. */

import type { Store } from '../../domain/stores/store.ts';
import { listNewestFailures, listNewestMovements, type Activity } from '../../storage/books/today.ts';
import { parallel, type Script } from '../../storage/sql/sql.ts';
import { listActors, type Actors } from '../staff/actors.ts';

const activitiesMax = 10;
/** The newest events among which failed emails are looked for. */
const eventsMax = 40;

/** The newest activity of a store, and the names of those who acted. */
export type RecentActivity = {
  /** The newest first. */
  readonly activities: readonly Activity[];
  readonly actors: Actors;
};

export function* findRecentActivity(store: Store): Script<RecentActivity> {
  const [movements, failures, actors] = yield* parallel(
    listNewestMovements(store, activitiesMax),
    listNewestFailures(store.id, { events: eventsMax }),
    listActors(store),
  );
  const activities = [...movements, ...failures].toSorted((left, right) => right.id - left.id);
  return { activities: activities.slice(0, activitiesMax), actors };
}
