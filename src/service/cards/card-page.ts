/** The content of the pages of one card: its details with its timeline, what explains its state, and its holds. */

import type { CardChange } from '../../domain/cards/change.ts';
import type { EmailSettings } from '../../domain/emails/email.ts';
import { Fault } from '../../domain/fault.ts';
import type { Hold } from '../../domain/money/hold.ts';
import type { Transfer } from '../../domain/money/ledger.ts';
import type { Store } from '../../domain/stores/store.ts';
import type { CardKey } from '../../storage/cards/card.ts';
import { listChangesBefore } from '../../storage/cards/change.ts';
import type { DetailedCard } from '../../storage/cards/detailed-card.ts';
import type { Context } from '../../storage/context.ts';
import { findEmailSettings } from '../../storage/emails/email.ts';
import { findHold } from '../../storage/money/hold.ts';
import { listTransfersAfter, listTransfersBefore } from '../../storage/money/transfer.ts';
import { parallel, type Script } from '../../storage/sql/sql.ts';
import { listActors, type Actors } from '../staff/actors.ts';
import { showCardDetails } from './list.ts';
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
