/**
 * The day at the counter. The entries come from the ledger, so their sums are those of the activity report; the till and the
 * reason of an entry come from the audit log, whose rows are of the same transaction.
 */

import type { Context } from '../../../core/storage/context.ts';
import { isRedemption, type Transfer } from '../../../core/money/domain/ledger.ts';
import { addDays, startOfDay } from '../../../core/domain/day.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { parseAmount } from '../../../core/money/domain/money.ts';
import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import type { EntryPlaces, Location } from '../../../core/stores/domain/location.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import {
  figuresOf,
  takenBackBy,
  tillEntryOf,
  type Count,
  type EntryAction,
  type StaffEntry,
  type TillEntry,
} from '../domain/till-day.ts';
import { worksAt, type StaffMember } from '../../../core/staff/domain/staff.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { findEmailSettings } from '../../../core/emails/storage/email.ts';
import { findTillNames } from '../../../core/staff/storage/till.ts';
import { parallel, resolved, type Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import {
  entryActions,
  listEntryActions,
  listStaffEntries,
  type EntryActionName,
  type PeriodPage,
  type ReadAction,
} from '../storage/till-day.ts';
import { idSkewMaxMs, findTransfer } from '../../../core/money/storage/transfer.ts';
import { findLocation } from '../../../core/stores/storage/location.ts';
import { requireCard } from '../../../core/cards/service/present-card.ts';
import { entryIdOf } from '../../../core/staff/service/as-staff.ts';
import { listActors, type Actors } from '../../../core/staff/service/actors.ts';

/** Rows of one statement: SQLite runs it in the thread that serves requests. */
const pageSize = 500;
/** Entries of one day that are summed. */
const entriesMax = 10_000;

export type TillDay = {
  readonly entries: readonly TillEntry[];
  /** Whether there are more entries than are summed. */
  readonly isCut: boolean;
};

type Read = { readonly ctx: Context; readonly storage: Pick<Storage, 'read'> };

/**
 * Reads the entries of a day in the store's time zone, oldest first, in bounded statements.
 * @param options.places the locations of the entries; null: all entries.
 */
export async function readTillDay(
  { ctx, storage }: Read,
  { store, day, places }: { readonly store: Store; readonly day: string; readonly places: EntryPlaces },
): Promise<TillDay> {
  const period = periodOf(store, day);
  const entries = await readAll<StaffEntry>((after) =>
    storage.read(() => listStaffEntries(store.id, { ...period, after, limit: pageSize })),
  );
  const actions = new Map<number, EntryAction>();
  // A day without entries has no actions that belong to one.
  if (entries.length > 0)
    for (const name of entryActions) {
      const read = await readAll<ReadAction>((after) =>
        storage.read(() => listEntryActions(store.id, name, { ...period, after, limit: pageSize })),
      );
      for (const action of read) addAction(ctx, actions, name, action);
    }
  return {
    entries: entries
      .slice(0, entriesMax)
      .filter(({ locationId }) => places?.includes(locationId) !== false)
      .map((entry) => tillEntryOf(entry, actions.get(entry.id))),
    isCut: entries.length > entriesMax,
  };
}

/** The amounts that staff took back on a day: redemptions that were undone, and sales that were cancelled. */
export type TakenBack = Readonly<Record<'undone' | 'cancelled', Count>>;

/** The sums of a day in the store's time zone, from the audit log, in bounded statements. */
export async function sumTakenBack(
  { storage }: Pick<Read, 'storage'>,
  { store, day }: { readonly store: Store; readonly day: string },
): Promise<TakenBack> {
  const period = periodOf(store, day);
  const sum = async (name: EntryActionName, takesBack: 'undoes' | 'cancels'): Promise<Count> => {
    const read = await readAll<ReadAction>((after) =>
      storage.read(() => listEntryActions(store.id, name, { ...period, after, limit: pageSize })),
    );
    const amounts = read
      .filter(({ at, details }) => at >= period.fromAt && at < period.untilAt && takesBack in details)
      .map(({ details }) => parseAmount(details['amount'], { currency: store.currency, zeroAllowed: false }));
    return {
      entries: amounts.length,
      minor: amounts.reduce((total, amount) => total + (amount.ok ? amount.value.minor : 0n), 0n),
    };
  };
  return { undone: await sum('card-refunded', 'undoes'), cancelled: await sum('card-disabled', 'cancels') };
}

/** The sums of some locations, from the entries of the day. */
export async function sumTakenBackAt(
  read: Read,
  day: { readonly store: Store; readonly day: string; readonly places: EntryPlaces },
): Promise<TakenBack> {
  const { undone, cancelled } = figuresOf((await readTillDay(read, day)).entries);
  return { undone, cancelled };
}

function periodOf({ timeZone }: Store, day: string): Pick<PeriodPage, 'fromAt' | 'untilAt'> {
  return { fromAt: startOfDay(day, timeZone), untilAt: startOfDay(addDays(day, 1), timeZone) };
}

async function readAll<Row extends { readonly id: number }>(
  read: (after: number) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let after = 0;
  while (rows.length <= entriesMax) {
    const page = await read(after);
    rows.push(...page);
    after = page.at(-1)?.id ?? after;
    if (page.length < pageSize) break;
  }
  return rows;
}

function addAction(
  ctx: Context,
  actions: Map<number, EntryAction>,
  name: EntryActionName,
  { tillId, details }: ReadAction,
): void {
  const id = entryIdOf(ctx, { details });
  if (id !== undefined) actions.set(id, { tillId, part: takenBackBy({ action: name, details }) });
}

/** A transfer as a receipt shows it. */
export type Receipt = {
  readonly transfer: Transfer;
  readonly card: Card;
  /** Null: it was not made on an enrolled device. */
  readonly tillId: number | null;
  readonly tillName: string | null;
  readonly actors: Actors;
  readonly isRefundable: boolean;
  /** The location where it took place; undefined: at no location. */
  readonly location: Location | undefined;
  /** With the identity of the shop, which receipts show. */
  readonly settings: EmailSettings;
};

/** @throws Fault `not-found` if the store has no such transfer at the locations of the person. */
export function* findReceipt(
  ctx: Context,
  { store, member }: { readonly store: Store; readonly member: StaffMember },
  id: number,
): Script<Receipt> {
  const storeId = store.id;
  const transfer = yield* findTransfer(storeId, id);
  if (!transfer || !worksAt(member, transfer.locationId)) throw new Fault('not-found');
  const { cardId, createdAt, kind } = transfer;
  const near = { fromAt: createdAt, untilAt: createdAt + idSkewMaxMs, after: id, limit: pageSize };
  const actions = new Map<number, EntryAction>();
  const names = entryActionsOf(transfer);
  const [card, found] = yield* parallel(
    requireCard(storeId, cardId),
    parallel(...names.map((name) => listEntryActions(storeId, name, near))),
  );
  for (const [index, read] of found.entries())
    for (const action of read) addAction(ctx, actions, names[index] ?? 'card-changed', action);
  const tillId = actions.get(id)?.tillId ?? null;
  const { locationId } = transfer;
  const [actors, tills, location, settings] = yield* parallel(
    listActors(store),
    findTillNames(storeId, tillId === null ? [] : [tillId]),
    locationId === null ? resolved(undefined) : findLocation(storeId, locationId),
    findEmailSettings(storeId),
  );
  return {
    transfer,
    card,
    tillId,
    tillName: tillId === null ? null : (tills.get(tillId) ?? null),
    actors,
    isRefundable: isRedemption(kind),
    location,
    settings,
  };
}

/** The actions that can have made a transfer. */
export function entryActionsOf({ kind, actor }: Transfer): readonly EntryActionName[] {
  if (!actor.startsWith('staff:')) return [];
  switch (kind) {
    case 'issue':
      return ['card-issued'];
    case 'credit':
    case 'top_up':
      return ['card-credited'];
    case 'debit':
    case 'capture':
      return ['card-redeemed'];
    case 'reversal':
      return ['card-refunded', 'card-disabled'];
    case 'adjustment':
      return ['card-changed', 'card-disabled'];
  }
}
