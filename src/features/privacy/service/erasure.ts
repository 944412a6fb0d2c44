/**
 * Erases the personal data of a customer. The money stays: amounts, transfers and their hashes do not change.
 *
 * A request starts an erasure: the customer is no longer found, and the address is sealed in the erasure's row. The
 * background job of a service, or the command, makes it in transactions of bounded size. Each card of the customer gets
 * a new version and an event. Events are redacted after all cards have changed, because a transaction that has read a
 * card before its change has then ended.
 */

import assert from 'node:assert/strict';
import type { Context } from '../../../core/storage/context.ts';
import { erasableFields, notedFields, personalFields } from '../../../core/cards/domain/fields.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import { isFieldName, valueOf, type FieldName } from '../../../core/cards/domain/change.ts';
import type { EmailAddress } from '../../../core/domain/email-address.ts';
import { cardPersonErasedEvent, customerErasedEvent } from '../../../core/events/domain/event.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { mentions, redacted } from '../domain/redaction.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import { findCard, lockCard, type CardKey } from '../../../core/cards/storage/card.ts';
import {
  eraseChangeTexts,
  findChangeEnd,
  recordChange,
  type ChangeEnd,
} from '../../../core/cards/storage/change.ts';
import {
  eraseCustomerRow,
  eraseEmailsTo,
  erasePersonOfCard,
  erasureSteps,
  findErasure,
  forgetErasedCards,
  listUnfinishedErasures,
  lockCardsOf,
  lockErasure,
  saveErasure,
  type CustomerKey,
  type Erasure,
  type ErasureStep,
} from '../storage/erasure.ts';
import {
  eraseCardTexts,
  eraseHoldTexts,
  eraseTransferTexts,
  findLastId,
  findPageEnd,
  listWalkedChanges,
  listWalkedEvents,
  listWalkedTexts,
  listWebhookIds,
  redactEvent,
  type TextTable,
  type WalkedTable,
} from '../storage/erasure-walk.ts';
import { recordEvent } from '../../../core/events/storage/event.ts';
import { erasePersonOfSales } from '../../online-sales/storage/erasure.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { forgetAddress } from '../../staff/service/failed-sign-in.ts';

/** The result lists this many cards whose code was not sent. */
const unsentListedMax = 100;

/** Rows of one transaction: cards of the customer, events, and rows of other tables. */
const batchRows = { cards: 20, events: 100, texts: 500 } as const;

/** Rows that one transaction erases texts from. A card also gets a change and an event. */
const erasedMax = { gift_cards: 20, transfers: 200, holds: 200, card_changes: 100 } as const;

const cancelReason = 'the customer was erased';

/**
 * Starts the erasure of a customer, or returns the one that was started before. A request to erase the notes as well
 * makes an unfinished erasure start over.
 * @throws Fault `not-found`; `invalid-parameter` if notes are requested and the address is already erased.
 */
export function* startErasure(
  ctx: Context,
  {
    storeId,
    customerId,
    eraseNotes,
    actor,
  }: CustomerKey & { readonly eraseNotes: boolean; readonly actor: string },
): Script<Erasure> {
  const key = { storeId, customerId };
  const started = yield* lockErasure(key);
  if (started) {
    if (!eraseNotes || started.eraseNotes) return started;
    if (started.address === null)
      throw new Fault('invalid-parameter', {
        errors: { erase_notes: ['cannot be set because the address is already erased'] },
      });
    const again: Erasure = {
      ...started,
      eraseNotes,
      step: 'cards',
      position: 0,
      positionEnd: 0,
      textsLeft: 0,
    };
    yield* saveErasure(again);
    return again;
  }
  const now = ctx.clock.now();
  const person = yield* eraseCustomerRow(key, now);
  if (!person) throw new Fault('not-found');
  const erasure: Erasure = {
    ...key,
    eraseNotes,
    address: ctx.keys.seal(
      'erasure',
      Buffer.from(JSON.stringify(person)),
      boundTo(key),
      ctx.random.bytes(sealNonceLength),
    ),
    step: 'cards',
    position: 0,
    positionEnd: 0,
    cards: 0,
    emails: 0,
    events: 0,
    texts: 0,
    textsLeft: 0,
    unsent: 0,
    unsentCards: '',
    actor,
    requestedAt: now,
    completedAt: null,
  };
  yield* saveErasure(erasure);
  return erasure;
}

/** @throws Fault `not-found` if no erasure of this customer was started. */
export function* showErasure(key: CustomerKey): Script<Erasure> {
  const erasure = yield* findErasure(key);
  if (!erasure) throw new Fault('not-found');
  return erasure;
}

/** Erasures that are searched for an address. More are unfinished only while no process continues them. */
const unfinishedMax = 1_000;

/** Returns an unfinished erasure of the customer with an address: it was interrupted. */
export function* findStartedErasure(
  ctx: Context,
  storeId: number,
  { key }: Pick<EmailAddress, 'key'>,
): Script<CustomerKey | undefined> {
  for (const found of yield* listUnfinishedErasures(unfinishedMax)) {
    if (found.storeId !== storeId) continue;
    const erasure = yield* findErasure(found);
    if (erasure?.address && personOf(ctx, found, erasure.address).key === key) return found;
  }
  return undefined;
}

function personOf({ keys }: Context, key: CustomerKey, sealed: Uint8Array): Person {
  // The text is authenticated, so it comes from `startErasure`.
  return JSON.parse(Buffer.from(keys.open('erasure', sealed, boundTo(key))).toString()) as Person;
}

function boundTo({ storeId, customerId }: CustomerKey): string {
  return `erasure ${storeId} ${customerId}`;
}

/** The person as the sealed text contains them. */
type Person = { readonly address: string; readonly key: string };

/**
 * Continues an erasure by one batch. Several processes can continue the same erasure.
 * @returns whether it is complete.
 */
export function* continueErasure(ctx: Context, key: CustomerKey): Script<boolean> {
  const erasure = yield* lockErasure(key);
  if (!erasure || erasure.address === null) return true;
  const person = personOf(ctx, key, erasure.address);
  const continued = yield* runBatch(ctx, erasure, person);
  yield* saveErasure(continued);
  return continued.completedAt !== null;
}

function* runBatch(ctx: Context, erasure: Erasure, person: Person): Script<Erasure> {
  switch (erasure.step) {
    case 'cards':
      return yield* eraseCards(ctx, erasure, person);
    case 'events':
      return yield* walk(erasure, { table: 'events', rows: batchRows.events }, (range) =>
        redactEvents(ctx, erasure, { person, range }),
      );
    case 'card texts':
      return yield* walkTexts(ctx, erasure, { person, table: 'gift_cards' });
    case 'transfer texts':
      return yield* walkTexts(ctx, erasure, { person, table: 'transfers' });
    case 'hold texts':
      return yield* walkTexts(ctx, erasure, { person, table: 'holds' });
    case 'changes':
      return yield* eraseChanges(erasure, person);
    case 'cleanup':
      return yield* complete(ctx, erasure, person);
    case 'complete':
      return erasure;
  }
}

function stepAfter(step: ErasureStep): ErasureStep {
  const next = erasureSteps[erasureSteps.indexOf(step) + 1];
  assert(next, 'the last step has no next step');
  return next;
}

function nextStep(erasure: Erasure): Erasure {
  return { ...erasure, step: stepAfter(erasure.step), position: 0, positionEnd: 0 };
}

/** Removes the customer from a few cards and their emails. */
function* eraseCards(ctx: Context, erasure: Erasure, { address }: Person): Script<Erasure> {
  const { storeId, eraseNotes } = erasure;
  const cards = yield* lockCardsOf(erasure, batchRows.cards);
  if (cards.length === 0) return nextStep(erasure);
  let { emails, unsent, unsentCards, texts } = erasure;
  for (const { id: cardId, isCustomer, isRecipient } of cards) {
    const key = { storeId, cardId };
    const loaded = yield* loadForChange(key);
    yield* erasePersonOfCard(erasure, cardId, { eraseNote: eraseNotes });
    const isHolder = isRecipient || (isCustomer && loaded.before.recipient === null);
    const erased = yield* eraseEmailsTo(
      { ...key, address, isHolder },
      { now: ctx.clock.now(), reason: cancelReason },
    );
    emails += erased.emails;
    if (eraseNotes && notedFields.some((name) => valueOf(loaded.before, name) !== null)) texts += 1;
    if (erased.isUnsent) {
      unsent += 1;
      if (unsent <= unsentListedMax) unsentCards += `${unsentCards && ','}${cardId}`;
    }
    const removed = [
      ...(isCustomer ? ['customer_id', 'customer_email'] : []),
      ...(isRecipient ? ['recipient_id', 'recipient_email'] : []),
    ];
    yield* publishChange(ctx, { ...loaded, removed, actor: erasure.actor });
  }
  return { ...erasure, cards: erasure.cards + cards.length, emails, unsent, unsentCards, texts };
}

type LoadedForChange = { readonly before: Card; readonly end: ChangeEnd };

/** A card that this transaction has locked, and the end of the chain of its changes. */
function* loadForChange(key: CardKey): Script<LoadedForChange> {
  const [before, end] = yield* parallel(findCard(key.storeId, key.cardId), findChangeEnd(key));
  assert(before, 'cards are never deleted');
  return { before, end };
}

/** Records a change that erased texts, without the texts, and publishes it. */
function* publishChange(
  ctx: Context,
  {
    before,
    end,
    removed,
    actor,
  }: LoadedForChange & { readonly removed: readonly string[]; readonly actor: string },
): Script<void> {
  const after = yield* findCard(before.storeId, before.id);
  assert(after, 'cards are never deleted');
  yield* recordChange(ctx, { before, after, end, actor, isErased: true });
  const texts = erasableFields.filter((name) => valueOf(before, name) !== valueOf(after, name));
  const changed = [...removed, ...texts];
  yield* recordEvent(ctx, cardPersonErasedEvent(ctx.keys.publicIds, after, changed));
}

type Range = { readonly after: number; readonly upTo: number };
type Counts = Partial<Pick<Erasure, 'events' | 'texts' | 'textsLeft' | 'position'>>;

/**
 * Processes the next page of a table, up to the last row that it had when the step began. `process` returns a position
 * if it stops before the end of the page.
 */
function* walk(
  erasure: Erasure,
  { table, rows }: { readonly table: WalkedTable; readonly rows: number },
  process: (range: Range) => Script<Counts>,
): Script<Erasure> {
  const { storeId, position: after } = erasure;
  const positionEnd = erasure.positionEnd > 0 ? erasure.positionEnd : yield* findLastId(table, storeId);
  if (after >= positionEnd) return nextStep(erasure);
  const upTo = yield* findPageEnd(table, storeId, { after, upTo: positionEnd, rows });
  const counts = yield* process({ after, upTo });
  return { ...erasure, position: upTo, positionEnd, ...counts };
}

function* redactEvents(
  ctx: Context,
  erasure: Erasure,
  { person, range }: { readonly person: Person; readonly range: Range },
): Script<Counts> {
  const { storeId, customerId, eraseNotes } = erasure;
  const erased = { key: person.key, publicId: ctx.keys.publicIds.of(customerId) };
  const webhookIds = yield* listWebhookIds(storeId);
  const now = ctx.clock.earliest();
  let { events } = erasure;
  for (const { id, data, isOwn, isRecipientErased } of yield* listWalkedEvents(erasure, range)) {
    const changed = redacted(data, erased, { isOwn, isRecipientErased, eraseNotes });
    if (changed === undefined) continue;
    yield* redactEvent({ storeId, id, data: changed }, { webhookIds, now });
    events += 1;
  }
  return { events };
}

function walkTexts(
  ctx: Context,
  erasure: Erasure,
  { person, table }: { readonly person: Person; readonly table: TextTable },
): Script<Erasure> {
  return walk(erasure, { table, rows: batchRows.texts }, function* (range) {
    const { storeId, eraseNotes } = erasure;
    let { texts, textsLeft } = erasure;
    for (const { id, texts: found, isOwn } of yield* listWalkedTexts(table, erasure, range)) {
      const places = new Set(found.keys().filter((place) => mentions(found[place] ?? '', person.key)));
      const isMentioned = places.size > 0;
      if (!eraseNotes) {
        if (isMentioned) textsLeft += 1;
        continue;
      }
      // The notes of the customer's own cards were erased with the cards.
      if (!isMentioned && !(isOwn && table !== 'gift_cards')) continue;
      texts += 1;
      // Events contain the same texts, of which they lose the same ones.
      const erased = isOwn ? new Set(found.keys()) : places;
      yield* eraseTexts(ctx, { storeId, table, id, places: erased, actor: erasure.actor });
      if (texts - erasure.texts === erasedMax[table]) return { texts, textsLeft, position: id };
    }
    return { texts, textsLeft };
  });
}

function* eraseTexts(
  ctx: Context,
  {
    storeId,
    table,
    id,
    places,
    actor,
  }: {
    readonly storeId: number;
    readonly table: TextTable;
    readonly id: number;
    readonly places: ReadonlySet<number>;
    readonly actor: string;
  },
): Script<void> {
  switch (table) {
    case 'transfers':
      return yield* eraseTransferTexts(storeId, id);
    case 'holds':
      return yield* eraseHoldTexts(storeId, id, places);
    case 'gift_cards': {
      const key = { storeId, cardId: id };
      yield* lockCard(key);
      const loaded = yield* loadForChange(key);
      yield* eraseCardTexts(storeId, id, places);
      yield* publishChange(ctx, { ...loaded, removed: [], actor });
    }
  }
}

/** Erases texts from the changes of cards. */
function eraseChanges(erasure: Erasure, { key }: Person): Script<Erasure> {
  return walk(erasure, { table: 'card_changes', rows: batchRows.texts }, function* (range) {
    const { storeId, eraseNotes } = erasure;
    let { texts, textsLeft } = erasure;
    let changed = 0;
    for (const { id, texts: json, isOwn } of yield* listWalkedChanges(erasure, range)) {
      // The database checks that it is an object.
      const stored = Object.entries(JSON.parse(json) as Readonly<Record<string, unknown>>);
      const mentioning = stored.flatMap(([name, values]) =>
        isFieldName(name) && mentions(JSON.stringify(values), key) ? [name] : [],
      );
      const own: readonly FieldName[] = eraseNotes ? erasableFields : personalFields;
      const erased: readonly FieldName[] = [...(isOwn ? own : []), ...(eraseNotes ? mentioning : [])];
      if (erased.length > 0) yield* eraseChangeTexts({ storeId, id }, erased);
      if (eraseNotes && (isOwn || mentioning.length > 0)) texts += 1;
      if (mentioning.some((name) => !erased.includes(name))) textsLeft += 1;
      if (erased.length > 0) changed += 1;
      if (changed === erasedMax.card_changes) return { texts, textsLeft, position: id };
    }
    return { texts, textsLeft };
  });
}

/** Deletes the list of cards, failed attempts to sign in, and the person in online sales, and then the address. */
function* complete(ctx: Context, erasure: Erasure, address: Person): Script<Erasure> {
  const { storeId, customerId } = erasure;
  if ((yield* lockCardsOf(erasure, 1)).length > 0)
    return { ...erasure, step: 'cards', position: 0, positionEnd: 0 };
  if ((yield* forgetErasedCards(erasure, batchRows.texts)) === batchRows.texts) return erasure;
  if (yield* forgetAddress(ctx, storeId, { address, limit: batchRows.texts })) return erasure;
  const ofSales = { key: address.key, now: ctx.clock.now(), limit: batchRows.texts };
  if ((yield* erasePersonOfSales(storeId, ofSales)) === batchRows.texts) return erasure;
  yield* recordEvent(ctx, customerErasedEvent(ctx.keys.publicIds, storeId, customerId));
  return { ...nextStep(erasure), address: null, completedAt: ctx.clock.now() };
}
