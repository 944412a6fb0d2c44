/**
 * Everything that happened to a card, newest first: ledger entries, holds, emails, changes and what staff did. Each
 * source is read from its own position, so that a page costs the same in a long history.
 */

import type { Context } from '../../../core/storage/context.ts';
import type { CardChange } from '../../../core/cards/domain/change.ts';
import type { EmailDelivery } from '../../../core/emails/domain/email.ts';
import type { Hold, HoldExtension } from '../../../core/money/domain/hold.ts';
import { isReversible, type Transfer } from '../../../core/money/domain/ledger.ts';
import { subtract, type Money } from '../../../core/money/domain/money.ts';
import type { CardKey } from '../../../core/cards/storage/card.ts';
import { listChangesBefore } from '../../../core/cards/storage/change.ts';
import {
  actionSlackMs,
  listActionsBefore,
  listActionsNear,
  type CardStaffAction,
} from '../storage/staff-action.ts';
import { listEmailsBefore } from '../../../core/emails/storage/email.ts';
import { listHoldsBefore, listLastExtensions } from '../../../core/money/storage/hold.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import type { StaffActionName } from '../../../core/staff/storage/action.ts';
import { listTransfersBefore, sumReversals } from '../../../core/money/storage/transfer.ts';
import { entryActionsOf } from '../../till/service/till-day.ts';
import { entryIdOf } from '../../../core/staff/service/as-staff.ts';
import { cursorOf, readCursor, type CursorScope } from '../../../core/requests/service/cursor.ts';

type TimelineEvent =
  | {
      readonly kind: 'transfer';
      readonly transfer: Transfer;
      /** The amount that can still be reversed; null: it is not a debit, capture or credit. */
      readonly left: Money | null;
    }
  | { readonly kind: 'hold'; readonly hold: Hold; readonly extension: HoldExtension | null }
  | { readonly kind: 'email'; readonly email: EmailDelivery }
  | { readonly kind: 'change'; readonly change: CardChange }
  /** An action without an entry of its own in the other sources. */
  | { readonly kind: 'action'; readonly action: CardStaffAction };

export type TimelineItem = TimelineEvent & {
  /** Instant in ms. */
  readonly at: number;
  readonly id: number;
  /** Its entry in the audit log; null: it has none. */
  readonly staffAction: CardStaffAction | null;
};

export type CardTimeline = {
  readonly items: readonly TimelineItem[];
  /** The cursor of the older items; null: there are none. */
  readonly older: string | null;
};

/** The ids of the last items that were shown, of each source, and the instant (ms) of the last item of all. */
type Place = {
  readonly transfer: number | null;
  readonly hold: number | null;
  readonly email: number | null;
  readonly change: number | null;
  readonly action: number | null;
  readonly at: number;
};

const sources = ['transfer', 'hold', 'email', 'change', 'action'] as const;

type SourceName = (typeof sources)[number];

const newest: Place = { transfer: null, hold: null, email: null, change: null, action: null, at: Infinity };

function scopeOf({ storeId, cardId }: CardKey): CursorScope {
  return ['card timeline', storeId, cardId];
}

/** Numbers in base 36, because a cursor has at most 75 characters. */
function placeText(ctx: Context, place: Place): string {
  const ids = sources.map((name) => {
    const id = place[name];
    return id === null ? '' : ctx.keys.publicIds.of(id).toString(36);
  });
  return [...ids, place.at.toString(36)].join('.');
}

/** @throws Fault `invalid-query` if it is not a cursor of this card. */
function readPlace(ctx: Context, key: CardKey, cursor: string): Place {
  // The cursor has what `placeText` wrote.
  const [text] = readCursor(ctx, scopeOf(key), cursor) as [string];
  const parts = text.split('.');
  const ids = parts.slice(0, sources.length).map((part) => {
    return part === '' ? null : (ctx.keys.publicIds.read(Number.parseInt(part, 36)) ?? null);
  });
  const [transfer = null, hold = null, email = null, change = null, action = null] = ids;
  return { transfer, hold, email, change, action, at: Number.parseInt(parts.at(-1) ?? '', 36) };
}

/** Rows of each source after those that a page can show: an entry and its action can be in another order by some places. */
const aheadRows = 10;

type Found = Readonly<Record<SourceName, readonly TimelineItem[]>> & {
  /** The ids of the actions of entries. */
  readonly actionOf: ReadonlyMap<TimelineItem, number>;
};

/**
 * @param cursor the cursor of the page; null: the newest items.
 * @throws Fault `invalid-query`.
 */
export function* readTimeline(
  ctx: Context,
  key: CardKey,
  { cursor, limit }: { readonly cursor: string | null; readonly limit: number },
): Script<CardTimeline> {
  const place = cursor === null ? newest : readPlace(ctx, key, cursor);
  const found = yield* findItems(ctx, key, place, limit + aheadRows);
  const { items, last, isComplete } = merge(found, place, limit);
  const completed = yield* withExtensions(key, yield* withReversible(key, items));
  return {
    items: yield* withActions(ctx, key, completed),
    older: isComplete ? null : cursorOf(ctx, scopeOf(key), [placeText(ctx, last)]),
  };
}

function common({ id, createdAt: at }: { readonly id: number; readonly createdAt: number }) {
  return { at, id, staffAction: null };
}

function* findItems(ctx: Context, key: CardKey, place: Place, limit: number): Script<Found> {
  const before = (id: number | null) => ({ before: id ?? Number.MAX_SAFE_INTEGER, limit });
  const [transfers, holds, emails, changes, actions] = yield* parallel(
    listTransfersBefore(key, { before: place.transfer, limit }),
    listHoldsBefore(key, before(place.hold)),
    listEmailsBefore(key, before(place.email)),
    listChangesBefore(key, { before: place.change, limit }),
    listActionsBefore(key, before(place.action)),
  );
  // Items that were added since the first page are not a part of the older ones.
  const isOlder = ({ at }: TimelineItem): boolean => at <= place.at;
  const entries = {
    transfer: transfers
      .map((transfer) => ({ kind: 'transfer' as const, transfer, left: null, ...common(transfer) }))
      .filter(isOlder),
    hold: holds
      .map((hold) => ({ kind: 'hold' as const, hold, extension: null, ...common(hold) }))
      .filter(isOlder),
    email: emails.map((email) => ({ kind: 'email' as const, email, ...common(email) })).filter(isOlder),
    change: changes.map((change) => ({ kind: 'change' as const, change, ...common(change) })).filter(isOlder),
  };
  const matched = matchActions(ctx, [...entries.transfer, ...entries.change], actions);
  const own = new Set(matched.values());
  const alone = actions.filter((action) => !own.has(action)).map(actionItem);
  return {
    ...entries,
    action: alone.filter(isOlder),
    actionOf: new Map(Array.from(matched, ([item, { id }]) => [item, id])),
  };
}

/** An action without an entry. */
function actionItem(action: CardStaffAction): TimelineItem {
  return { kind: 'action', action, at: action.at, id: action.id, staffAction: action };
}

/** The newest items of all sources. Each source keeps its own order, even if a clock was set back. */
function merge(
  found: Found,
  place: Place,
  limit: number,
): { readonly items: readonly TimelineItem[]; readonly last: Place; readonly isComplete: boolean } {
  const items: TimelineItem[] = [];
  const taken: Record<SourceName, number> = { transfer: 0, hold: 0, email: 0, change: 0, action: 0 };
  const next = (): TimelineItem | undefined => {
    let best: { readonly name: SourceName; readonly item: TimelineItem } | undefined;
    for (const name of sources) {
      const item = found[name][taken[name]];
      if (item && (!best || isNewer(item, best.item))) best = { name, item };
    }
    if (best) taken[best.name] += 1;
    return best?.item;
  };
  while (items.length < limit) {
    const item = next();
    if (!item) break;
    items.push(item);
  }
  // The action of an entry is passed together with it, and with those between them.
  const passed = Math.min(...items.map((item) => found.actionOf.get(item) ?? Infinity));
  for (let item = found.action[taken.action]; item && item.id > passed; item = found.action[taken.action]) {
    taken.action += 1;
    items.push(item);
  }
  const lastOf = (name: SourceName): number | null => found[name][taken[name] - 1]?.id ?? place[name];
  const last = {
    transfer: lastOf('transfer'),
    hold: lastOf('hold'),
    email: lastOf('email'),
    change: lastOf('change'),
    action: lowest(passed, lastOf('action')),
    at: Math.min(items.at(-1)?.at ?? place.at, place.at),
  };
  return { items, last, isComplete: next() === undefined };
}

/** The lower one of two positions. */
function lowest(passed: number, last: number | null): number | null {
  const position = Math.min(passed, last ?? Infinity);
  return position === Infinity ? null : position;
}

function isNewer(left: TimelineItem, right: TimelineItem): boolean {
  return left.at === right.at ? left.id > right.id : left.at > right.at;
}

/** Adds what can still be reversed of each transfer. */
function* withReversible(
  { storeId }: CardKey,
  items: readonly TimelineItem[],
): Script<readonly TimelineItem[]> {
  const reversible = items.flatMap((item) =>
    item.kind === 'transfer' && isReversible(item.transfer.kind) ? [item.transfer] : [],
  );
  const sums = yield* parallel(...reversible.map(({ id }) => sumReversals(storeId, id)));
  const left = new Map(
    reversible.map(({ id, amount }, place) => [
      id,
      subtract(amount, { minor: sums[place] ?? 0n, currency: amount.currency }),
    ]),
  );
  return items.map((item) =>
    item.kind === 'transfer' ? { ...item, left: left.get(item.transfer.id) ?? null } : item,
  );
}

/** Adds the last extension of each hold that has one. */
function* withExtensions(
  { storeId }: CardKey,
  items: readonly TimelineItem[],
): Script<readonly TimelineItem[]> {
  const ids = items.flatMap((item) => (item.kind === 'hold' ? [item.id] : []));
  if (ids.length === 0) return items;
  const last = new Map((yield* listLastExtensions(storeId, ids)).map((found) => [found.holdId, found]));
  return items.map((item) =>
    item.kind === 'hold' ? { ...item, extension: last.get(item.id) ?? null } : item,
  );
}

/** Adds the actions of staff to the items that they made. */
function* withActions(
  ctx: Context,
  key: CardKey,
  items: readonly TimelineItem[],
): Script<readonly TimelineItem[]> {
  const instants = new Set(items.flatMap(instantsOfStaff));
  const matched = matchActions(ctx, items, yield* listActionsNear(key, [...instants]));
  return items.map((item) => ({ ...item, staffAction: matched.get(item) ?? item.staffAction }));
}

/** The action of each item that has one: the one that names the entry, or else the nearest one of no other item. */
function matchActions(
  ctx: Context,
  items: readonly TimelineItem[],
  actions: readonly CardStaffAction[],
): ReadonlyMap<TimelineItem, CardStaffAction> {
  const ofEntry = new Map(actions.map((action) => [entryIdOf(ctx, action), action]));
  const free = new Set(actions);
  const nearest = (item: TimelineItem): CardStaffAction | undefined => {
    const [at] = instantsOfStaff(item);
    if (at === undefined) return undefined;
    const distance = (action: CardStaffAction): number => Math.abs(action.at - at);
    const [own] = [...free]
      .filter((action) => isActionOf(action, item) && distance(action) <= actionSlackMs)
      .toSorted((left, right) => distance(left) - distance(right));
    if (own) free.delete(own);
    return own;
  };
  const matched = new Map<TimelineItem, CardStaffAction>();
  for (const item of items) {
    const own = (item.kind === 'transfer' ? ofEntry.get(item.id) : undefined) ?? nearest(item);
    if (own) matched.set(item, own);
  }
  return matched;
}

function instantsOfStaff(item: TimelineItem): readonly number[] {
  switch (item.kind) {
    case 'transfer':
      return item.transfer.actor.startsWith('staff:') ? [item.at] : [];
    case 'change':
      return item.change.actor.startsWith('staff:') ? [item.at] : [];
    case 'hold':
      return item.hold.status === 'voided' && item.hold.closedAt !== null ? [item.hold.closedAt] : [];
    case 'email':
    case 'action':
      return [];
  }
}

/** The actions that make a change. */
const changeActions: ReadonlySet<StaffActionName> = new Set([
  'card-changed',
  'card-disabled',
  'card-reenabled',
  'card-suspended',
  'card-resumed',
  'code-sent',
]);

/**
 * Whether an action can have made an item, apart from an action that names its entry. Without an entry, a disabling is a
 * change; that of a cancelled sale names the reversal.
 */
function isActionOf({ action, staffId, details }: CardStaffAction, item: TimelineItem): boolean {
  switch (item.kind) {
    case 'transfer':
      return (
        details['entry'] === undefined &&
        action !== 'card-disabled' &&
        entryActionsOf(item.transfer).some((name) => name === action) &&
        item.transfer.actor === `staff:${staffId}`
      );
    case 'change':
      return changeActions.has(action) && item.change.actor === `staff:${staffId}`;
    case 'hold':
      return action === 'hold-released';
    case 'email':
    case 'action':
      return false;
  }
}
