/**
 * Batches: many cards that are issued with one request. The request seals the cards in parts. The background job of a
 * service, or the command, issues one or several parts per transaction, which also replaces their lines by the result:
 * after an interruption, and with several processes, each card is issued once.
 */

import assert from 'node:assert/strict';
import type { Context } from '../../storage/context.ts';
import {
  batchCardsMax,
  batchCodesMs,
  batchErrorsMax,
  type Batch,
  type BatchError,
} from '../../domain/batches/batch.ts';
import type { Card } from '../../domain/cards/card.ts';
import { spendStateOf } from '../../domain/cards/state.ts';
import { holderOf } from '../../domain/emails/email.ts';
import { batchCompletedEvent } from '../../domain/events/event.ts';
import { Fault } from '../../domain/fault.ts';
import { equal, type Money } from '../../domain/money/money.ts';
import type { CardToIssue } from '../../domain/cards/new-card.ts';
import { Secret } from '../../platform/secret.ts';
import type { Store } from '../../domain/stores/store.ts';
import {
  countRunningBatches,
  findBatch,
  findBatchByKey,
  findBatchLines,
  hasBatchCodes,
  insertBatch,
  insertBatchPart,
  listBatchesAfter,
  listBatchesBefore,
  listFailedParts,
  listIssuedParts,
  lockRunningBatch,
  openBatchPart,
  saveBatchProgress,
  saveIssuedPart,
  sealBatchPart,
  type BatchKey,
  type BatchPart,
} from '../../storage/batches/batch.ts';
import { findDetailedCards } from '../../storage/cards/list.ts';
import { findCardIdByCode } from '../../storage/cards/code.ts';
import { findEmailSettings } from '../../storage/emails/email.ts';
import { recordEvent } from '../../storage/events/event.ts';
import { parallel, resolved, type Script } from '../../storage/sql/sql.ts';
import type { Storage } from '../../storage/storage.ts';
import { findStore } from '../../storage/stores/store.ts';
import { onePart, type Pace } from './pace.ts';
import { issue } from '../cards/card.ts';
import { isExternalIdUsed } from '../requests/external-ids.ts';
import { findLinkError } from '../customers/customer.ts';
import { today } from '../money/money.ts';
import { newerPage, olderPage, type ListPage, type PageRequest } from '../money/movements.ts';

/** Cards of one part. To issue it takes a few milliseconds, and other writes run before the next transaction. */
export const batchPartCards = 25;

/** Batches of a store that run at the same time. */
const runningMax = 20;

const keyDigestLength = 16;

export type NewBatch = {
  readonly store: Store;
  readonly name: string | null;
  readonly actor: string;
  readonly apiClientId: number | null;
  /** Default: none. */
  readonly locationId?: number | null;
  readonly cards: readonly CardToIssue[];
  /** The sum of the cards' values. */
  readonly total: Money;
  /** The line of each card in a file; absent: there is none. */
  readonly fileLines?: readonly number[];
  /** The same key always returns the same batch; absent: none. */
  readonly key?: string;
};

/**
 * Stores a batch, whose cards are issued afterwards.
 * @throws Fault `too-many-requests` if many batches of the store are running; `idempotency-key-reused` if the key was used
 * for other cards.
 */
export function* startBatch(ctx: Context, command: NewBatch): Script<Batch> {
  const { store, cards, total, key } = command;
  assert(cards.length > 0 && cards.length <= batchCardsMax);
  const [digest = null] = key === undefined ? [] : keyDigestsOf(ctx, store.id, key);
  const found = key === undefined ? undefined : yield* findCreatedBatch(ctx, store.id, key);
  if (found) {
    if (found.cards !== cards.length || !equal(found.total, total)) throw new Fault('idempotency-key-reused');
    return found;
  }
  if ((yield* countRunningBatches(store.id, runningMax)) >= runningMax)
    throw new Fault('too-many-requests', {
      detail: `The store already has ${runningMax} running batches: see Retry-After.`,
      retryAfterSeconds: 10,
    });
  const batch: Batch = {
    storeId: store.id,
    id: ctx.random.id(),
    name: command.name,
    actor: command.actor,
    apiClientId: command.apiClientId,
    locationId: command.locationId ?? null,
    state: 'running',
    cards: cards.length,
    total,
    issued: 0,
    issuedTotal: { minor: 0n, currency: total.currency },
    failed: 0,
    nextPart: 0,
    createdAt: ctx.clock.now(),
    completedAt: null,
    codesUntil: null,
  };
  yield* insertBatch(batch, digest);
  const batchKey = batchKeyOf(batch);
  for (let part = 0; part * batchPartCards < cards.length; part += 1) {
    const lines = cards.slice(part * batchPartCards, (part + 1) * batchPartCards).map(lineOf);
    const sealed = sealBatchPart(ctx, { ...batchKey, part, content: 'lines' }, JSON.stringify(lines));
    const fileLines = command.fileLines?.slice(part * batchPartCards, (part + 1) * batchPartCards) ?? null;
    yield* insertBatchPart(batchKey, { part, lines: sealed, fileLines });
  }
  return batch;
}

/** Returns the batch that was created with a key. */
export function* findCreatedBatch(ctx: Context, storeId: number, key: string): Script<Batch | undefined> {
  for (const digest of keyDigestsOf(ctx, storeId, key)) {
    const found = yield* findBatchByKey(storeId, digest);
    if (found) return found;
  }
  return undefined;
}

export function batchKeyOf({ storeId, id }: Pick<Batch, 'storeId' | 'id'>): BatchKey {
  return { storeId, batchId: id };
}

/** A key can be the name of a file, so only half of a keyed digest is stored. */
function keyDigestsOf({ keys }: Context, storeId: number, key: string): readonly Uint8Array[] {
  return keys.digests('batch-key', `${storeId} ${key}`).map((digest) => digest.subarray(0, keyDigestLength));
}

/** A card as JSON. */
type Line = Omit<CardToIssue, 'value' | 'code'> & { readonly minor: string; readonly code: string | null };

function lineOf({ value, code, ...card }: CardToIssue): Line {
  return { ...card, minor: value.minor.toString(), code: code && code.reveal() };
}

function cardOf({ minor, code, ...card }: Line, { total: { currency } }: Batch): CardToIssue {
  return {
    ...card,
    value: { minor: BigInt(minor), currency },
    code: code === null ? null : new Secret(code),
  };
}

/** How many codes of the cards the store has chosen, each of which `checkBatch` looks for. */
export function countChosenCodes(cards: readonly CardToIssue[]): number {
  return cards.filter(({ code }) => code !== null).length;
}

/** The errors of cards with the external id of an earlier card. */
function repeatedExternalIds(cards: readonly CardToIssue[]): readonly BatchError[] {
  const first = new Map<string, number>();
  return cards.flatMap(({ details: { externalId } }, index) => {
    if (externalId === null) return [];
    const before = first.get(externalId);
    if (before === undefined) first.set(externalId, index);
    return before === undefined
      ? []
      : [{ index, field: 'external_id', message: `must differ from that of cards[${before}]` }];
  });
}

const externalIdUsed = 'was used before';

/** Cards whose codes and ids one read looks up. */
const checkedTogether = 50;

/** The errors of cards that depend on the database: codes that the store has used, and storefront ids of others. */
export async function checkBatch(
  { ctx, storage }: { readonly ctx: Context; readonly storage: Storage },
  { store, cards }: Pick<NewBatch, 'store' | 'cards'>,
): Promise<readonly BatchError[]> {
  const errors = [...repeatedExternalIds(cards)];
  const checked = cards.flatMap((card, index) =>
    card.code ||
    card.details.externalId !== null ||
    card.storefrontCustomerId !== null ||
    (card.emails && card.emails.sendAt !== null)
      ? [{ ...card, index }]
      : [],
  );
  for (let at = 0; at < checked.length && errors.length < batchErrorsMax; at += checkedTogether) {
    const some = checked.slice(at, at + checkedTogether);
    errors.push(...(await storage.read(() => findErrors(ctx, store, some))));
  }
  return errors.slice(0, batchErrorsMax);
}

function* findErrors(
  ctx: Context,
  store: Store,
  cards: readonly (CardToIssue & { readonly index: number })[],
): Script<readonly BatchError[]> {
  const { enabled } = yield* findEmailSettings(store.id);
  const found = yield* parallel(
    ...cards.map(({ code, customer, storefrontCustomerId, details: { externalId: text } }) =>
      parallel(
        code ? findCardIdByCode(ctx, store.id, code) : resolved(undefined),
        customer && storefrontCustomerId !== null
          ? findLinkError(store.id, { address: customer, storefrontCustomerId })
          : resolved(null),
        text === null ? resolved(false) : isExternalIdUsed(ctx, { storeId: store.id, kind: 'card', text }),
      ),
    ),
  );
  return found.flatMap(([usedBy, linkError, isIdUsed], place) => {
    const { index = 0, emails } = cards[place] ?? {};
    const isUnsent = !enabled && emails !== undefined && emails.sendAt !== null;
    return [
      ...(usedBy === undefined ? [] : [{ index, field: 'code', message: 'is taken' }]),
      ...(isIdUsed ? [{ index, field: 'external_id', message: externalIdUsed }] : []),
      ...(linkError === null ? [] : [{ index, field: 'storefront_customer_id', message: linkError }]),
      ...(isUnsent
        ? [{ index, field: 'send_on', message: 'cannot be set because the store does not send emails' }]
        : []),
    ];
  });
}

/** A card of a part cannot be issued. Rolls its transaction back, which then continues without the card. */
class CardRejected extends Error {
  override readonly name = 'CardRejected';
  readonly error: BatchError;

  constructor(error: BatchError) {
    super('a card of a batch was rejected');
    this.error = error;
  }
}

/** The result of an attempt to issue parts. */
type Attempt = 'issued' | 'nothing to do';

/**
 * Issues the parts of a batch until it is complete, or another process works on it.
 * @param options.onProgress called after each transaction.
 */
export async function continueBatch(
  { ctx, storage }: { readonly ctx: Context; readonly storage: Storage },
  key: BatchKey,
  { pace = onePart, onProgress }: { readonly pace?: Pace; readonly onProgress?: () => void } = {},
): Promise<void> {
  const rejected = new Map<number, BatchError>();
  for (;;) {
    try {
      // Each rejected card rolls the transaction back, so it is a short one.
      const partsMax = rejected.size > 0 ? 1 : pace.nextParts();
      if ((await storage.write(() => issueParts(ctx, key, { rejected, partsMax }))) !== 'issued') return;
      rejected.clear();
      onProgress?.();
    } catch (error) {
      if (!(error instanceof CardRejected)) throw error;
      rejected.set(error.error.index, error.error);
    }
  }
}

type Rejected = ReadonlyMap<number, BatchError>;

/** Issues the next parts of a batch, without the rejected cards. @throws CardRejected. */
function* issueParts(
  ctx: Context,
  key: BatchKey,
  { rejected, partsMax }: { readonly rejected: Rejected; readonly partsMax: number },
): Script<Attempt> {
  let batch = yield* lockRunningBatch(key);
  if (!batch) return 'nothing to do';
  const [record, { enabled }] = yield* parallel(findStore(key.storeId), findEmailSettings(key.storeId));
  assert(record);
  const terms = { store: record.store, sendsEmail: enabled, rejected };
  for (let parts = 0; parts < partsMax && batch.state === 'running'; parts += 1)
    batch = yield* issuePart(ctx, batch, terms);
  yield* saveBatchProgress(batch);
  if (batch.state === 'complete') yield* recordEvent(ctx, batchCompletedEvent(batch));
  return 'issued';
}

/** Issues the next part of a batch. @returns the batch after it. @throws CardRejected. */
function* issuePart(
  ctx: Context,
  batch: Batch,
  {
    store,
    sendsEmail,
    rejected,
  }: { readonly store: Store; readonly sendsEmail: boolean; readonly rejected: Rejected },
): Script<Batch> {
  const key = batchKeyOf(batch);
  const part = batch.nextPart;
  const sealed = yield* findBatchLines(key, part);
  assert(sealed, 'a running batch has no further part');
  // The text is authenticated, so it comes from `startBatch`.
  const lines = JSON.parse(openBatchPart(ctx, { ...key, part, content: 'lines' }, sealed)) as readonly Line[];
  const cards = lines.map((line) => cardOf(line, batch));
  const indexOf = (place: number): number => part * batchPartCards + place;
  const failures = cards.flatMap((_, place) => rejected.get(indexOf(place)) ?? []);
  // Together, so that all customers of the part are found in one round trip.
  const issued = yield* parallel(
    ...cards.map((card, place) => {
      const index = indexOf(place);
      return rejected.has(index) ? resolved(null) : issueOrReject(ctx, { batch, store, card, index });
    }),
  );
  const issuedMinor = issued.reduce(
    (sum, each) => sum + (each?.card.initialValue.minor ?? 0n),
    batch.issuedTotal.minor,
  );
  const codes = issued.map((each, place) => {
    const card = cards[place];
    if (!each || !card) return null;
    // An emailed code is not needed here.
    const isEmailed = card.emails !== undefined && sendsEmail && holderOf(each.card) !== null;
    return isEmailed ? null : each.code.reveal();
  });
  const cardIds = issued.map((each) => each && each.card.id);
  const hasCodes = codes.some((code) => code !== null);
  yield* saveIssuedPart(key, {
    part,
    cardIds,
    codes: hasCodes ? sealBatchPart(ctx, { ...key, part, content: 'codes' }, JSON.stringify(codes)) : null,
    failures: failures.length > 0 ? JSON.stringify(failures) : null,
  });
  const isComplete = (part + 1) * batchPartCards >= batch.cards;
  const anyCodes = isComplete && (hasCodes || (yield* hasBatchCodes(key)));
  return {
    ...batch,
    state: isComplete ? 'complete' : 'running',
    issued: batch.issued + lines.length - failures.length,
    issuedTotal: { ...batch.issuedTotal, minor: issuedMinor },
    failed: batch.failed + failures.length,
    nextPart: part + 1,
    completedAt: isComplete ? ctx.clock.now() : null,
    codesUntil: anyCodes ? ctx.clock.latest() + batchCodesMs : null,
  };
}

/** @throws CardRejected if a parameter has become invalid since the batch was created, such as a code that is taken. */
function* issueOrReject(
  ctx: Context,
  {
    batch,
    store,
    card,
    index,
  }: { readonly batch: Batch; readonly store: Store; readonly card: CardToIssue; readonly index: number },
): Script<{ readonly card: Card; readonly code: Secret }> {
  const { actor, apiClientId, locationId } = batch;
  try {
    return yield* issue(ctx, { ...card, store, actor, apiClientId, locationId });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.code === 'external-id-used')
      throw new CardRejected({ index, field: 'external_id', message: externalIdUsed });
    if (error.code !== 'invalid-parameter') throw error;
    const [field = null, [message = 'is invalid'] = []] = Object.entries(error.errors ?? {})[0] ?? [];
    throw new CardRejected({ index, field, message });
  }
}

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

export type PrintableCards = {
  /** How many there are in the batch. */
  readonly count: number;
  readonly cards: readonly (BatchCard & { readonly code: Secret })[];
};

/**
 * Returns the cards of a batch that can be printed, from the `from`-th of them on: those that are active or suspended, and
 * whose code is the one of the batch and was not emailed. None after the codes can no longer be read.
 * @throws Fault `not-found`.
 */
export async function listPrintableCards(
  { ctx, storage }: { readonly ctx: Context; readonly storage: Pick<Storage, 'read'> },
  { store, key }: { readonly store: Store; readonly key: BatchKey },
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<PrintableCards> {
  const [batch, parts] = await storage.read(() =>
    parallel(showBatch(key), listIssuedParts(key, { from: 0, limit: batchCardsMax / batchPartCards })),
  );
  const places = placesOf(ctx, key, { parts, isReadable: areCodesReadable(ctx, batch) });
  const withCode = places.filter(({ code }) => code !== null);
  const day = today(ctx, store);
  const cards: (BatchCard & { readonly code: Secret })[] = [];
  let count = 0;
  for (let at = 0; at < withCode.length; at += cardsRead) {
    const some = withCode.slice(at, at + cardsRead);
    for (const { code, ...found } of await storage.read(() => findCardsAt(ctx, key, some))) {
      const { card } = found;
      const isCurrent = code !== null && code.reveal().endsWith(card.lastCharacters);
      if (!isCurrent || !isPrintable(card, day)) continue;
      if (count >= from && count < from + limit) cards.push({ ...found, code });
      count += 1;
    }
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
