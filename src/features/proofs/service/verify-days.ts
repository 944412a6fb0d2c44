/** Verifies the boundaries of the days of the books, and the checkpoints that conclude days. */

import { dayAfter, firstDay, type BooksDay } from '../../books/domain/books.ts';
import { checkpointRecordOf, type Checkpoint } from '../domain/checkpoint.ts';
import { dayOf } from '../../../core/domain/day.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { listCheckpointEvents } from '../storage/references.ts';
import { findLastClosings } from '../../books/storage/books.ts';
import { findCheckpoint, listCheckpointsAfter } from '../storage/checkpoint.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { listStoreChanges } from '../../../core/stores/storage/change.ts';
import { listAllClosedDays } from '../../books/service/books.ts';
import type { StoreVerifying } from './row-check.ts';

const pageSize = 250;

type Found = Pick<StoreVerifying, 'found'>;

/** The days of a store's books follow each other, and its checkpoints are those that were published. */
export function* checkDays(store: Store, verifying: Found): Script<void> {
  const zones = yield* listTimeZones(store);
  yield* checkBoundaries(store, zones, verifying);
  yield* checkConcludedDays(store.id, zones, verifying);
  yield* checkPublished(store.id, verifying);
}

/** The time zones that a store has had. */
function* listTimeZones(store: Store): Script<readonly string[]> {
  const changes = yield* listStoreChanges(store.id);
  const recorded = changes.flatMap((change) => [change.old, change.new]);
  return [...new Set([store.timeZone, ...recorded])].filter((zone) => zone !== null);
}

/**
 * Each day must begin where the one before it ends. The end of the last one is compared with the store's time zones; an
 * earlier boundary is not, because the rules of a zone can be corrected after a day was closed.
 */
function* checkBoundaries(store: Store, zones: readonly string[], { found }: Found): Script<void> {
  const days: BooksDay[] = [...(yield* listAllClosedDays(store.id))];
  const [last] = yield* findLastClosings(store.id);
  if (last && last.part !== 'closed') days.push(last);
  for (const [place, { day, fromAt }] of days.entries()) {
    const before = days[place - 1];
    if (before && before.untilAt !== fromAt)
      found({ cardId: null, problem: `the day ${day} does not begin where the day ${before.day} ends` });
  }
  const [before, end] = [days.at(-2), days.at(-1)];
  if (!end) return;
  const isOfZone = zones.some((zone) => {
    const expected = before ? dayAfter(before, zone) : firstDay(end.fromAt, zone);
    return expected.day === end.day && expected.fromAt === end.fromAt && expected.untilAt === end.untilAt;
  });
  if (!isOfZone)
    found({
      cardId: null,
      problem: `the day ${end.day} does not end with a day in a time zone of the store`,
    });
}

/** A checkpoint concludes a day that has ended. */
function* checkConcludedDays(storeId: number, zones: readonly string[], { found }: Found): Script<void> {
  for (let after = 0; ;) {
    const page: readonly Checkpoint[] = yield* listCheckpointsAfter(storeId, { after, limit: pageSize });
    for (const { id, day, createdAt } of page)
      if (day !== null && zones.every((zone) => day >= dayOf(createdAt, zone)))
        found({ cardId: null, problem: `log: the checkpoint ${id} concludes a day that had not ended` });
    const last = page.at(-1);
    if (!last || page.length < pageSize) return;
    after = last.id;
  }
}

/** A checkpoint must have what its event has published, as long as the event is retained. */
function* checkPublished(storeId: number, { found }: Found): Script<void> {
  for (let after = 0; ;) {
    const events = yield* listCheckpointEvents(storeId, { after, limit: pageSize });
    for (const { id, checkpointId, data } of events) {
      const checkpoint = yield* findCheckpoint(storeId, checkpointId);
      const problem = checkpoint ? problemOf(checkpoint, data) : 'does not exist';
      if (problem !== undefined)
        found({ cardId: null, problem: `log: the checkpoint ${checkpointId} of the event ${id} ${problem}` });
    }
    const last = events.at(-1);
    if (!last || events.length < pageSize) return;
    after = last.id;
  }
}

/** Compares what the record of the event has, because later versions can add fields. */
function problemOf(checkpoint: Checkpoint, data: string): string | undefined {
  const record = new Map(Object.entries(checkpointRecordOf(checkpoint)));
  for (const [field, value] of Object.entries(publishedIn(data)))
    if (record.get(field) !== value) return `has another ${field} than the event`;
  return undefined;
}

/** Returns an empty record if the event cannot be read, which the check of the events reports. */
function publishedIn(data: string): object {
  try {
    const { checkpoint } = JSON.parse(data) as { readonly checkpoint?: unknown };
    return typeof checkpoint === 'object' && checkpoint !== null ? checkpoint : {};
  } catch {
    return {};
  }
}
