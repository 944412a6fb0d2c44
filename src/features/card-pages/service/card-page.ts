/** The content of the pages of one card: its details with its timeline, what explains its state, and its holds. */

import type { CardChange } from '../../../core/cards/domain/change.ts';
import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Hold } from '../../../core/money/domain/hold.ts';
import type { Transfer } from '../../../core/money/domain/ledger.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { CardKey } from '../../../core/cards/storage/card.ts';
import { listChangesBefore } from '../../../core/cards/storage/change.ts';
import type { DetailedCard } from '../../../core/cards/storage/detailed-card.ts';
import type { Context } from '../../../core/storage/context.ts';
import { findEmailSettings } from '../../../core/emails/storage/email.ts';
import { findHold } from '../../../core/money/storage/hold.ts';
import { listTransfersAfter, listTransfersBefore } from '../../../core/money/storage/transfer.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { listActors, type Actors } from '../../../core/staff/service/actors.ts';
import { showCardDetails } from '../../../core/cards/service/list.ts';
import { readTimeline, type CardTimeline } from './timeline.ts';

const itemsOnPage = 50;

export type CardRecord = {
  readonly found: DetailedCard;
  readonly timeline: CardTimeline;
  readonly actors: Actors;
  /** The first entry of the ledger. */
  readonly issue: Transfer | undefined;
};

/** @param cursor of the timeline; null: its newest items. @throws Fault `not-found`. */
export function* readCardPage(
  ctx: Context,
  store: Store,
  cardId: number,
  cursor: string | null,
): Script<CardRecord> {
  const key = { storeId: store.id, cardId };
  const [found, timeline, [issue], actors] = yield* parallel(
    showCardDetails(ctx, key),
    readTimeline(ctx, key, { cursor, limit: itemsOnPage }),
    listTransfersAfter(key, { after: 0, limit: 1 }),
    listActors(store),
  );
  return { found, timeline, actors, issue };
}

/** The newest changes and entries that are examined. */
const examinedMax = 20;

/** The reasons why a card cannot be redeemed. */
export type CardPast = {
  readonly settings: EmailSettings;
  readonly transfers: readonly Transfer[];
  readonly changes: readonly CardChange[];
  readonly actors: Actors;
};

export function* readCardPast(store: Store, cardId: number): Script<CardPast> {
  const key = { storeId: store.id, cardId };
  const place = { before: null, limit: examinedMax };
  const [settings, transfers, changes, actors] = yield* parallel(
    findEmailSettings(store.id),
    listTransfersBefore(key, place),
    listChangesBefore(key, place),
    listActors(store),
  );
  return { settings, transfers, changes, actors };
}

/** A hold of a card, and those who can have placed it. @throws Fault `not-found` if the card has no such hold. */
export function* findHoldOf(
  store: Store,
  { cardId }: Pick<CardKey, 'cardId'>,
  holdId: number,
): Script<{ readonly hold: Hold; readonly actors: Actors }> {
  const [hold, actors] = yield* parallel(findHold(store.id, holdId), listActors(store));
  if (hold?.cardId !== cardId) throw new Fault('not-found');
  return { hold, actors };
}
