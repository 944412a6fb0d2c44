/** Lists of batches, and of their cards and failures. */

import type { Context } from '../../../core/storage/context.ts';
import { batchCardsMax, batchErrorsMax, type Batch, type BatchError } from '../domain/batch.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { spendStateOf } from '../../../core/cards/domain/state.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { Secret } from '../../../platform/secret.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import {
  findBatch,
  listBatchesAfter,
  listBatchesBefore,
  listFailedParts,
  listIssuedParts,
  openBatchPart,
  type BatchKey,
  type BatchPart,
} from '../storage/batch.ts';
import { findDetailedCards } from '../../../core/cards/storage/detailed-card.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import { today } from '../../../core/stores/service/day.ts';
import {
  newerPage,
  olderPage,
  type ListPage,
  type PageRequest,
} from '../../../core/money/service/movements.ts';
import { batchPartCards } from './batch.ts';

export { findBatch } from '../storage/batch.ts';

/** @throws Fault `not-found`. */
export function* showBatch(key: BatchKey): Script<Batch> {
  const batch = yield* findBatch(key);
  if (!batch) throw new Fault('not-found');
  return batch;
}

/** @throws Fault `invalid-query` if `before` or `after` is not the id of a batch of the store. */
export function* listStoreBatches(
  storeId: number,
  { limit, before, after }: PageRequest,
): Script<ListPage<Batch>> {
  const id = after ?? before;
  if (id !== null && !(yield* findBatch({ storeId, batchId: id })))
    throw new Fault('invalid-query', {
      errors: { [after === null ? 'before' : 'after']: ['must be the id of an entry in this list'] },
    });
  return after === null
    ? olderPage(
        yield* listBatchesBefore(storeId, { before: before ?? Number.MAX_SAFE_INTEGER, limit: limit + 1 }),
        { limit, isFirst: before === null },
      )
    : newerPage(yield* listBatchesAfter(storeId, { after, limit: limit + 1 }), limit);
}

/** The first reasons why cards of a batch were not issued. */
export function* listFailures(key: BatchKey): Script<readonly BatchError[]> {
  return (yield* listFailedLines(key)).map(({ index, field, message }) => ({ index, field, message }));
}

/** The failures as `listFailures` returns them, with the lines of the file. */
export function* listFailedLines(
  key: BatchKey,
): Script<readonly (BatchError & { readonly line: number | null })[]> {
  const parts = yield* listFailedParts(key, batchErrorsMax);
  return parts
    .flatMap(({ part, failures, fileLines }) =>
      // `issuePart` has written them.
      (JSON.parse(failures) as readonly BatchError[]).map((error) => ({
        ...error,
        line: fileLines?.[error.index - part * batchPartCards] ?? null,
      })),
    )
    .slice(0, batchErrorsMax);
}

/** A card of a batch. */
export type BatchCard = {
  /** Its place in the batch, from 0. */
  readonly index: number;
  readonly card: Card;
  /** Null: the card was emailed, or the code can no longer be read. */
  readonly code: Secret | null;
  /** In the file; null: there was none. */
  readonly line: number | null;
};

export type BatchCardsPage = {
  /** The place of the first card, from 0. */
  readonly from: number;
  readonly limit: number;
  /** Whether the caller may read codes. */
  readonly withCodes: boolean;
};

export type BatchCards = {
  readonly cards: readonly BatchCard[];
  /** The place at which the next page begins; null: there is none. */
  readonly next: number | null;
};

/**
 * Returns the issued cards of a batch from a place on. The codes can be read until a day after its completion.
 * @throws Fault `not-found`.
 */
export function* listCardsOfBatch(
  ctx: Context,
  key: BatchKey,
  { from, limit, withCodes }: BatchCardsPage,
): Script<BatchCards> {
  const firstPart = Math.floor(from / batchPartCards);
  const partsRead = Math.ceil(limit / batchPartCards) + 1;
  const [batch, parts] = yield* parallel(
    showBatch(key),
    listIssuedParts(key, { from: firstPart, limit: partsRead }),
  );
  const isReadable = withCodes && areCodesReadable(ctx, batch);
  const places = placesOf(ctx, key, { parts, isReadable }).filter(({ index }) => index >= from);
  return {
    cards: yield* findCardsAt(ctx, key, places.slice(0, limit)),
    next:
      places[limit]?.index ?? (parts.length === partsRead ? (firstPart + partsRead) * batchPartCards : null),
  };
}

/** The place of an issued card in its batch. */
type CardPlace = Omit<BatchCard, 'card' | 'code'> & { readonly id: number; readonly code: string | null };

function placesOf(
  ctx: Context,
  key: BatchKey,
  { parts, isReadable }: { readonly parts: readonly BatchPart[]; readonly isReadable: boolean },
): readonly CardPlace[] {
  return parts.flatMap(({ part, cardIds, codes: sealed, fileLines }) => {
    const codes =
      isReadable && sealed
        ? // The text is authenticated, so it comes from `issuePart`.
          (JSON.parse(openBatchPart(ctx, { ...key, part, content: 'codes' }, sealed)) as readonly (
            string | null
          )[])
        : [];
    return cardIds.flatMap((id, place) => {
      const index = part * batchPartCards + place;
      const line = fileLines?.[place] ?? null;
      return id === null ? [] : [{ index, id, code: codes[place] ?? null, line }];
    });
  });
}

function* findCardsAt(
  ctx: Context,
  { storeId }: BatchKey,
  places: readonly CardPlace[],
): Script<readonly BatchCard[]> {
  if (places.length === 0) return [];
  const ids = places.map(({ id }) => id);
  const found = yield* findDetailedCards(storeId, ids, ctx.clock.earliest());
  const byId = new Map(found.map(({ card }) => [card.id, card]));
  return places.flatMap(({ index, id, code, line }) => {
    const card = byId.get(id);
    return card ? [{ index, card, code: code === null ? null : new Secret(code), line }] : [];
  });
}

/** Cards of one read: other requests run before the next one. */
const cardsRead = 100;

export type PrintableCard = BatchCard & { readonly code: Secret };

export type PrintableCards = {
  /** The number in the batch. */
  readonly count: number;
  readonly cards: readonly PrintableCard[];
};

type PrintPlace = { readonly ctx: Context; readonly storage: Pick<Storage, 'read'> };
type PrintedBatch = { readonly store: Store; readonly key: BatchKey };

/**
 * Returns the cards of a batch that can be printed, some at a time: those that are active or suspended, and
 * whose code is the one of the batch and was not emailed. None after the codes can no longer be read.
 * @throws Fault `not-found`.
 */
export async function* printableCards(
  { ctx, storage }: PrintPlace,
  { store, key }: PrintedBatch,
): AsyncGenerator<readonly PrintableCard[], void> {
  const [batch, parts] = await storage.read(() =>
    parallel(showBatch(key), listIssuedParts(key, { from: 0, limit: batchCardsMax / batchPartCards })),
  );
  const places = placesOf(ctx, key, { parts, isReadable: areCodesReadable(ctx, batch) });
  const withCode = places.filter(({ code }) => code !== null);
  const day = today(ctx, store);
  for (let at = 0; at < withCode.length; at += cardsRead) {
    const some = withCode.slice(at, at + cardsRead);
    const found = await storage.read(() => findCardsAt(ctx, key, some));
    yield found.flatMap(({ code, ...each }) => {
      const isCurrent = code !== null && code.reveal().endsWith(each.card.lastCharacters);
      return isCurrent && isPrintable(each.card, day) ? [{ ...each, code }] : [];
    });
  }
}

/** The printable cards from the `from`-th on, and their number. @throws Fault as `printableCards`. */
export async function listPrintableCards(
  place: PrintPlace,
  batch: PrintedBatch,
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<PrintableCards> {
  const cards: PrintableCard[] = [];
  let count = 0;
  for await (const some of printableCards(place, batch)) {
    cards.push(...some.slice(Math.max(0, from - count), Math.max(0, from + limit - count)));
    count += some.length;
  }
  return { count, cards };
}

/** A suspended card can be printed before it is resumed. */
function isPrintable(card: Card, day: string): boolean {
  const state = spendStateOf(card, day);
  return state === 'active' || state === 'suspended';
}

/** Whether the codes of a batch can be read: while it runs, and for a day afterwards. */
function areCodesReadable({ clock }: Context, { state, codesUntil }: Batch): boolean {
  return state === 'running' || (codesUntil !== null && clock.earliest() < codesUntil);
}
