/**
 * Batches: many cards that are issued with one request. The request seals the cards in parts. The background job of a
 * service, or the command, issues one or several parts per transaction, which also replaces their lines by the result:
 * after an interruption, and with several processes, each card is issued once.
 */

import { ToolKey } from '../../../platform/tools.ts';
import assert from 'node:assert/strict';
import type { Context } from '../../../core/storage/context.ts';
import { batchCardsMax, batchCodesMs, batchErrorsMax, type Batch, type BatchError } from '../domain/batch.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { holderOf } from '../../../core/emails/domain/email.ts';
import { batchCompletedEvent } from '../domain/batch-event.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { equal, type Money } from '../../../core/money/domain/money.ts';
import type { CardToIssue } from '../../../core/cards/domain/new-card.ts';
import { Secret } from '../../../platform/secret.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import {
  countRunningBatches,
  findBatchByKey,
  findBatchLines,
  hasBatchCodes,
  insertBatch,
  insertBatchPart,
  lockRunningBatch,
  openBatchPart,
  saveBatchProgress,
  saveIssuedPart,
  sealBatchPart,
  type BatchKey,
} from '../storage/batch.ts';
import { chosenOf } from '../../../core/cards/domain/given-code.ts';
import { findChosen } from '../../../core/stocks/service/activation.ts';
import { findEmailSettings } from '../../../core/emails/storage/email.ts';
import { recordEvent } from '../../../core/events/storage/event.ts';
import { parallel, resolved, type Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import { findStore } from '../../../core/stores/storage/store.ts';
import { onePart, type Pace } from './pace.ts';
import { issue } from '../../../core/cards/service/issue.ts';
import { isExternalIdUsed } from '../../../core/requests/service/external-ids.ts';
import { findLinkError } from '../../../core/customers/service/customer.ts';

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

/** Issues the cards of new batches, and adds the codes of new stocks, now. */
export const startBatchesTool = new ToolKey<() => void>('start of batches');

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
  return { ...card, minor: value.minor.toString(), code: code && code.code.reveal() };
}

function cardOf({ minor, code, ...card }: Line, { total: { currency } }: Batch): CardToIssue {
  return {
    ...card,
    value: { minor: BigInt(minor), currency },
    code: code === null ? null : chosenOf(new Secret(code)),
  };
}

/** The number of codes that the store has chosen, each of which `checkBatch` looks for. */
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
        code ? findChosen(ctx, { storeId: store.id, code }, undefined) : resolved(null),
        customer && storefrontCustomerId !== null
          ? findLinkError(store.id, { address: customer, storefrontCustomerId })
          : resolved(null),
        text === null ? resolved(false) : isExternalIdUsed(ctx, { storeId: store.id, kind: 'card', text }),
      ),
    ),
  );
  return found.flatMap(([chosen, linkError, isIdUsed], place) => {
    const { index = 0, emails } = cards[place] ?? {};
    const isUnsent = !enabled && emails !== undefined && emails.sendAt !== null;
    return [
      ...(chosen && chosen.error !== null ? [{ index, field: 'code', message: chosen.error }] : []),
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
    return yield* issue(ctx, { ...card, store, actor, apiClientId, locationId, batchId: batch.id });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.code === 'external-id-used')
      throw new CardRejected({ index, field: 'external_id', message: externalIdUsed });
    if (error.code !== 'invalid-parameter') throw error;
    const [field = null, [message = 'is invalid'] = []] = Object.entries(error.errors ?? {})[0] ?? [];
    throw new CardRejected({ index, field, message });
  }
}
