/**
 * Everything that happened to a card, newest first: ledger entries, holds, emails, changes and what staff did. Each
 * source is read from its own position, so that a page costs the same in a long history.
 */

import type { Context } from '../context.ts';
import type { CardChange } from '../domain/card-change.ts';
import type { EmailDelivery } from '../domain/email.ts';
import type { Hold } from '../domain/hold.ts';
import { isReversible, type Transfer } from '../domain/ledger.ts';
import { subtract, type Money } from '../domain/money.ts';
import type { CardKey } from '../storage/card.ts';
import { listChangesBefore } from '../storage/card-change.ts';
import { listActionsNear, type CardStaffAction } from '../storage/card-staff-action.ts';
import { listEmailsBefore } from '../storage/email.ts';
import { listHoldsBefore } from '../storage/hold.ts';
import { parallel, type Script } from '../storage/sql.ts';
import type { StaffActionName } from '../storage/staff-action.ts';
import { listTransfersBefore, sumReversals } from '../storage/transfer.ts';
import { cursorOf, readCursor, type CursorScope } from './cursor.ts';

type TimelineEvent =
  | {
      readonly kind: 'transfer';
      readonly transfer: Transfer;
      /** What can still be reversed of it; null: it is not a debit, capture or credit. */
      readonly left: Money | null;
    }
  | { readonly kind: 'hold'; readonly hold: Hold }
  | { readonly kind: 'email'; readonly email: EmailDelivery }
  | { readonly kind: 'change'; readonly change: CardChange }
  /** An action without an entry of its own in the other sources. */
  | { readonly kind: 'action'; readonly action: CardStaffAction };

export type TimelineItem = TimelineEvent & {
  /** Instant in ms. */
  readonly at: number;
  readonly id: number;
  /** What the audit log has of it; null: nothing. */
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
  readonly at: number;
};

const sources = ['transfer', 'hold', 'email', 'change'] as const;

type SourceName = (typeof sources)[number];

const newest: Place = { transfer: null, hold: null, email: null, change: null, at: Infinity };

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
  const [transfer = null, hold = null, email = null, change = null] = ids;
  return { transfer, hold, email, change, at: Number.parseInt(parts.at(-1) ?? '', 36) };
}

type Found = Readonly<Record<SourceName, readonly TimelineItem[]>>;

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
  const found = yield* findItems(key, place, limit + 1);
  const { items, last, isComplete } = merge(found, place, limit);
  const completed = yield* withReversible(key, items);
  return {
    items: yield* withActions(key, completed),
    older: isComplete ? null : cursorOf(ctx, scopeOf(key), [placeText(ctx, last)]),
  };
}

function common({ id, createdAt: at }: { readonly id: number; readonly createdAt: number }) {
  return { at, id, staffAction: null };
}

function* findItems(key: CardKey, place: Place, limit: number): Script<Found> {
  const before = (id: number | null) => ({ before: id ?? Number.MAX_SAFE_INTEGER, limit });
  const [transfers, holds, emails, changes] = yield* parallel(
    listTransfersBefore(key, { before: place.transfer, limit }),
    listHoldsBefore(key, before(place.hold)),
    listEmailsBefore(key, before(place.email)),
    listChangesBefore(key, { before: place.change, limit }),
  );
  // What was added since the first page is not a part of the older ones.
  const isOlder = ({ at }: TimelineItem): boolean => at <= place.at;
  return {
    transfer: transfers
      .map((transfer) => ({ kind: 'transfer' as const, transfer, left: null, ...common(transfer) }))
      .filter(isOlder),
    hold: holds.map((hold) => ({ kind: 'hold' as const, hold, ...common(hold) })).filter(isOlder),
    email: emails.map((email) => ({ kind: 'email' as const, email, ...common(email) })).filter(isOlder),
    change: changes.map((change) => ({ kind: 'change' as const, change, ...common(change) })).filter(isOlder),
  };
}

/** The newest items of all sources. Each source keeps its own order, even if a clock was set back. */
function merge(
  found: Found,
  place: Place,
  limit: number,
): { readonly items: readonly TimelineItem[]; readonly last: Place; readonly isComplete: boolean } {
  const items: TimelineItem[] = [];
  const taken: Record<SourceName, number> = { transfer: 0, hold: 0, email: 0, change: 0 };
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
  const lastOf = (name: SourceName): number | null => found[name][taken[name] - 1]?.id ?? place[name];
  const last = {
    transfer: lastOf('transfer'),
    hold: lastOf('hold'),
    email: lastOf('email'),
    change: lastOf('change'),
    at: Math.min(items.at(-1)?.at ?? place.at, place.at),
  };
  return { items, last, isComplete: next() === undefined };
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

/** Adds the actions of staff to the items that they made, and those without one as items of their own. */
function* withActions(key: CardKey, items: readonly TimelineItem[]): Script<readonly TimelineItem[]> {
  const instants = new Set(items.flatMap(instantsOfStaff));
  const actions = yield* listActionsNear(key.storeId, key.cardId, [...instants]);
  const free = new Set(actions);
  const matched = items.map((item) => {
    const own = [...free]
      .filter((action) => isActionOf(action, item))
      .toSorted((left, right) => Math.abs(left.at - item.at) - Math.abs(right.at - item.at))[0];
    if (own) free.delete(own);
    return { ...item, staffAction: own ?? null };
  });
  const alone = [...free]
    .filter(({ action }) => !actionsOf.change.includes(action))
    .map((action) => {
      return { kind: 'action' as const, action, at: action.at, id: action.id, staffAction: action };
    });
  return alone.length === 0
    ? matched
    : [...matched, ...alone].toSorted((left, right) => (isNewer(left, right) ? -1 : 1));
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

/** The actions that make an entry of a kind. */
const actionsOf: Readonly<Record<'transfer' | 'change' | 'hold', readonly StaffActionName[]>> = {
  transfer: ['card-issued', 'card-redeemed', 'card-refunded', 'card-credited', 'card-changed'],
  change: ['card-changed', 'card-disabled', 'card-reenabled', 'code-sent'],
  hold: ['hold-released'],
};

function isActionOf({ action, staffId }: CardStaffAction, item: TimelineItem): boolean {
  switch (item.kind) {
    case 'transfer':
      return actionsOf.transfer.includes(action) && item.transfer.actor === `staff:${staffId}`;
    case 'change':
      return actionsOf.change.includes(action) && item.change.actor === `staff:${staffId}`;
    case 'hold':
      return actionsOf.hold.includes(action);
    case 'email':
    case 'action':
      return false;
  }
}
