/** Lists a card's history in pages: its creation, its changes that are not money, and its expiries. */

import type { Context } from '../../storage/context.ts';
import { undone, type CardChange } from '../domain/change.ts';
import { entriesOf, type HistoryEntry, type RecordedEntry, type ZonePeriod } from '../domain/history.ts';
import { Fault } from '../../domain/fault.ts';
import type { Transfer } from '../../money/domain/ledger.ts';
import type { Store } from '../../stores/domain/store.ts';
import { findChange, listChangesAfter, listChangesBefore } from '../storage/change.ts';
import { undoneMax } from '../storage/past-card.ts';
import { parallel, resolved, type Script } from '../../../database/sql/sql.ts';
import { findStorePast, type StorePast } from '../../stores/storage/change.ts';
import { listTransfersAfter } from '../../money/storage/transfer.ts';
import {
  newerPage,
  olderPage,
  requirePlace,
  type ListPage,
  type PageRequest,
} from '../../money/service/movements.ts';
import { requireCard } from './present-card.ts';

/**
 * Returns a page of recorded entries, each after the entries that are derived from it.
 * @throws Fault `not-found`; `invalid-query` if `before` or `after` is not the id of an entry of the card, or is too many
 * changes back.
 */
export function* listCardHistory(
  ctx: Context,
  { store, cardId }: { readonly store: Store; readonly cardId: number },
  request: PageRequest,
): Script<ListPage<HistoryEntry>> {
  const key = { storeId: store.id, cardId };
  const id = request.after ?? request.before;
  // The changes are read after the card, so that they contain all changes of the card.
  const [card, past, [issue], named] = yield* parallel(
    requireCard(store.id, cardId),
    findStorePast(store.id),
    listTransfersAfter(key, { after: 0, limit: 1 }),
    id === null ? resolved(undefined) : findChange(store.id, id),
  );
  if (!issue) throw new Error(`the gift card ${cardId} has no transfers`);
  const page = yield* listRecorded(request, { issue, named });
  const [newest] = page.items;
  if (!newest) return { ...page, items: [] };
  const since = yield* listChangesAfter(key, { after: placeOf(newest), limit: undoneMax + 1 });
  if (since.length > undoneMax) throw new Fault('invalid-query', { errors: { before: [tooFarBack] } });
  let state = since.reduceRight(undone, card);
  let until = since[0]?.createdAt ?? ctx.clock.earliest();
  const zones = periodsOf(store, past);
  const items: HistoryEntry[] = [];
  for (const item of page.items) {
    const entry = entryOf(item);
    items.push(...entriesOf({ entry, card: state, until }, { zones, recordedFrom: past.changesFrom }));
    state = undone(state, entry);
    until = entry.at;
  }
  return { ...page, items };
}

const tooFarBack = `must have at most ${undoneMax} newer changes`;

type Recorded = CardChange | Transfer;

function isChange(recorded: Recorded): recorded is CardChange {
  return 'fields' in recorded;
}

/** The creation is before the first change. */
function placeOf(recorded: Recorded): number {
  return isChange(recorded) ? recorded.sequence : 0;
}

function entryOf(recorded: Recorded): RecordedEntry & Pick<CardChange, 'fields'> {
  const { id, createdAt: at, actor } = recorded;
  const fields = isChange(recorded) ? recorded.fields : [];
  return { id, kind: isChange(recorded) ? 'changed' : 'created', at, actor, changes: fields, fields };
}

/** @param named the change that `before` or `after` names, or undefined. */
function* listRecorded(
  { limit, before, after }: PageRequest,
  { issue, named }: { readonly issue: Transfer; readonly named: CardChange | undefined },
): Script<ListPage<Recorded>> {
  const key = { storeId: issue.storeId, cardId: issue.cardId };
  const id = after ?? before;
  const isIssue = id === issue.id;
  if (id !== null && !isIssue) requirePlace(key, after === null ? 'before' : 'after', named);
  if (after !== null) {
    const place = isIssue ? 0 : (named?.sequence ?? 0);
    return newerPage(yield* listChangesAfter(key, { after: place, limit: limit + 1 }), limit);
  }
  if (isIssue) return olderPage([], { limit, isFirst: false });
  const changes = yield* listChangesBefore(key, { before, limit: limit + 1 });
  return olderPage([...changes, issue], { limit, isFirst: before === null });
}

/** The time zones of a store, the first one from the beginning, and the present one without an end. */
function periodsOf({ timeZone }: Store, { zones }: StorePast): readonly ZonePeriod[] {
  const ended = zones.toReversed();
  const starts = [0, ...ended.map(({ until }) => until)];
  return [...ended, { until: Infinity, timeZone }].map((zone, place) => ({
    ...zone,
    from: starts[place] ?? 0,
  }));
}
