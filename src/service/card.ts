/** The four operations on gift cards, each one transaction. */

import type { Context } from '../context.ts';
import { choose, effectiveChanges, isDisabled, isExpired, refuseChanges } from '../domain/card.ts';
import type { Card, CardChanges } from '../domain/card.ts';
import { lastCharactersOf, randomCode } from '../domain/code.ts';
import { dayOf } from '../domain/day.ts';
import type { EmailAddress } from '../domain/email.ts';
import { cardCreated, cardEnabled, cardUpdated, customerCreated } from '../domain/event.ts';
import { Fault, type Refusals } from '../domain/fault.ts';
import { adjustmentOf, issueOf } from '../domain/ledger.ts';
import type { Money } from '../domain/money.ts';
import { isTrue, type ClaimableField } from '../domain/record.ts';
import type { Secret } from '../domain/secret.ts';
import { aboveLimit, isAbove, type Store } from '../domain/store.ts';
import { findCard, findCardsOfCustomer, insertCard, replaceCard } from '../storage/card.ts';
import { findCardIdByCode, findCode, insertCode } from '../storage/code.ts';
import { findCustomer, findOrInsertCustomer } from '../storage/customer.ts';
import { announce } from '../storage/event.ts';
import { listOpenHolds } from '../storage/hold.ts';
import { Rerun, type Script } from '../storage/sql.ts';
import { recordFirstTransfer, recordTransfer } from '../storage/transfer.ts';
import { bookCardMails, type CardMails } from './mail.ts';
import { presentCard, releaseHold, releaseRunOutHolds, requireCard, requireVersion, today } from './money.ts';

export type IssueCommand = {
  readonly store: Store;
  /** The API client that creates the card; null where there is none. */
  readonly apiClientId: number | null;
  readonly actor: string;
  readonly value: Money;
  readonly expiresOn: string | null;
  readonly customer: EmailAddress | null;
  readonly recipient: EmailAddress | null;
  readonly note: string | null;
  readonly message: string | null;
  /** The code that the store chose; null: a random one. */
  readonly code: Secret | null;
  /** The mails that go with it; absent: none. */
  readonly mails?: CardMails;
};

/**
 * Issues a card: its customers, if they are new, the card, its code, and the first transfer.
 * @throws Fault `invalid-parameter` if the store has used the chosen code before, or schedules a mail and sends none.
 */
export function* issue(
  ctx: Context,
  command: IssueCommand,
): Script<{ readonly card: Card; readonly code: Secret }> {
  const { store, value } = command;
  const code = command.code ?? randomCode((length) => ctx.chance.bytes(length));
  const now = ctx.clock.now();
  const customer = yield* resolveCustomer(ctx, store, command.customer);
  const recipient = yield* resolveCustomer(ctx, store, command.recipient);
  const card: Card = {
    storeId: store.id,
    id: ctx.chance.id(),
    version: 1,
    initialValue: value,
    balance: value,
    held: { minor: 0n, currency: value.currency },
    lastCharacters: lastCharactersOf(code),
    customer,
    recipient,
    note: command.note,
    message: command.message,
    expiresOn: command.expiresOn,
    disabledAt: null,
    createdAt: now,
    lineItemId: null,
    orderId: null,
    userId: null,
    apiClientId: command.apiClientId,
  };
  yield* insertCard(card);
  if (!(yield* insertCode(ctx, { storeId: store.id, cardId: card.id, code }))) {
    if (command.code) throw new Fault('invalid-parameter', { errors: { code: [codeTaken] } });
    throw new Rerun('a random code was taken');
  }
  yield* recordFirstTransfer(ctx, {
    ...issueOf(value),
    storeId: store.id,
    cardId: card.id,
    balanceAfter: value,
    actor: command.actor,
    reference: null,
    note: null,
    orderId: null,
    holdId: null,
    reverses: null,
    createdAt: now,
  });
  yield* announce(ctx, cardCreated(card));
  if (command.mails) yield* bookCardMails(ctx, { card, code, mails: command.mails });
  return { card, code };
}

const codeTaken = 'is taken';

/**
 * Refuses an issue whose parameters were refused already, naming a taken code along with them.
 * @throws Fault `invalid-parameter`, always.
 */
export function* refuseIssue(
  ctx: Context,
  {
    store,
    code,
    refusals,
  }: { readonly store: Store; readonly code: Secret | null; readonly refusals: Refusals },
): Script<never> {
  if (code && (yield* findCardIdByCode(ctx, store.id, code)) !== undefined) refusals.add('code', codeTaken);
  refusals.throwIfAny();
  throw new Error('an issue was refused without a reason');
}

function* resolveCustomer(
  ctx: Context,
  store: Store,
  address: EmailAddress | null,
): Script<Card['customer']> {
  if (!address) return null;
  const { customer, isNew } = yield* findOrInsertCustomer(ctx, store.id, address);
  if (isNew) yield* announce(ctx, customerCreated(store.id, customer));
  return customer;
}

/** @throws Fault `not-found` if the store has no such card. */
export function* retrieve(storeId: number, cardId: number): Script<Card> {
  return yield* requireCard(storeId, cardId);
}

export type SearchCommand = {
  readonly store: Store;
  readonly address: EmailAddress;
  readonly lastCharacters: string;
  /** Only cards of this customer; null: of anybody. */
  readonly onlyCustomerId: number | null;
};

/** The card that a search means, or undefined. */
export function* search(ctx: Context, command: SearchCommand): Script<Card | undefined> {
  const { store, address, lastCharacters, onlyCustomerId } = command;
  const customer = yield* findCustomer(store.id, address);
  if (!customer || (onlyCustomerId !== null && onlyCustomerId !== customer.id)) return undefined;
  const cards = yield* findCardsOfCustomer(store.id, customer.id, lastCharacters);
  return choose(cards, dayOf(ctx.clock.now(), store.timeZone));
}

export type UpdateCommand = {
  readonly store: Store;
  readonly cardId: number;
  readonly actor: string;
  readonly changes: CardChanges;
  /** Release the card's open holds, if it is disabled. */
  readonly releaseHolds: boolean;
  /** Fields that cannot be set, as the client sent them along. */
  readonly claims: ReadonlyMap<ClaimableField, unknown>;
  /** The code, if the client sent it along. */
  readonly claimedCode: Secret | null;
  /** The versions that the client would change; null: any. */
  readonly versions: readonly number[] | null;
  /** What was refused of the parameters before the card was looked at. */
  readonly refusals: Refusals;
};

/**
 * Changes a card: all named changes or none. An update that changes nothing leaves the version.
 * @throws Fault `not-found`, `precondition-failed`, or `invalid-parameter` with everything that is refused.
 */
export function* update(ctx: Context, command: UpdateCommand): Script<Card> {
  const read = yield* requireVersion(command);
  const isChange = Object.keys(effectiveChanges(read, command.changes)).length > 0;
  const card = isChange ? yield* settleHolds(ctx, read, command) : read;
  yield* refuseUpdate(ctx, card, command);

  const effective = effectiveChanges(card, command.changes);
  if (Object.keys(effective).length === 0) return card;
  const now = ctx.clock.now();
  const { disable, ...values } = effective;
  const changed: Card = {
    ...card,
    ...values,
    disabledAt: disable ? now : card.disabledAt,
    version: card.version + 1,
  };
  yield* replaceCard(card, changed);
  if (effective.balance) {
    yield* recordTransfer(ctx, {
      ...adjustmentOf(card.balance, effective.balance),
      storeId: card.storeId,
      cardId: card.id,
      balanceAfter: effective.balance,
      actor: command.actor,
      reference: null,
      note: null,
      orderId: null,
      holdId: null,
      reverses: null,
      createdAt: now,
    });
  }
  for (const event of cardUpdated(changed, effective)) yield* announce(ctx, event);
  return changed;
}

/**
 * Closes the card's holds that have run out, and the others too where they are to be released with
 * a disabling. If the update is refused after that, they are open again.
 * @returns the card after it.
 * @throws Rerun if anything but this has changed the card since it was read.
 */
function* settleHolds(
  ctx: Context,
  read: Card,
  { changes, releaseHolds }: Pick<UpdateCommand, 'changes' | 'releaseHolds'>,
): Script<Card> {
  if (read.held.minor === 0n) return read;
  let released = yield* releaseRunOutHolds(ctx, read);
  if (releaseHolds && changes.disable === true) {
    for (const hold of yield* listOpenHolds(read.storeId, read.id)) {
      yield* releaseHold(ctx, hold, {
        status: 'voided',
        closedAt: ctx.clock.now(),
        version: read.version + released,
      });
      released += 1;
    }
  }
  const card = yield* requireCard(read.storeId, read.id);
  if (card.version !== read.version + released) throw new Rerun('the card has changed since it was read');
  return card;
}

/**
 * Withdraws a disabling within the store's undo window.
 * @throws Fault `not-found`, `precondition-failed`, or `undo-window-closed` if the card is not
 * disabled, or has been for longer than the window, or the store has none.
 */
export function* undo(
  ctx: Context,
  command: Pick<UpdateCommand, 'store' | 'cardId' | 'versions'>,
): Script<Card> {
  const card = yield* requireVersion(command);
  const windowMs = command.store.undoWindowMinutes * 60_000;
  if (card.disabledAt === null || ctx.clock.now() >= card.disabledAt + windowMs)
    throw new Fault('undo-window-closed');
  const enabled: Card = { ...card, disabledAt: null, version: card.version + 1 };
  yield* replaceCard(card, enabled);
  yield* announce(ctx, cardEnabled(enabled));
  return enabled;
}

export type LookupCommand = {
  readonly store: Store;
  readonly code: Secret;
  /** A caller who may not read cards must not learn that an unusable one exists. */
  readonly usableOnly: boolean;
};

export type Found =
  | {
      readonly kind: 'found';
      readonly card: Card;
      /** What the code is found by: a movement may demand that the card still has it. */
      readonly codeLookup: bigint;
    }
  /** No card has this code; `hadBy` is the one that had it before it got another, if there is one. */
  | { readonly kind: 'missed'; readonly hadBy: number | null };

/**
 * The card that has this code, as it stands now. It does the same work for an unknown code as for one that a card
 * had before.
 */
export function* lookUp(ctx: Context, { store, code, usableOnly }: LookupCommand): Script<Found> {
  const used = yield* findCode(ctx, store.id, code);
  const card = yield* findCard(store.id, used?.isCurrent ? used.cardId : 0);
  if (!card || !used) return { kind: 'missed', hadBy: used?.cardId ?? null };
  if (usableOnly && (isDisabled(card) || isExpired(card, today(ctx, store))))
    return { kind: 'missed', hadBy: null };
  return { kind: 'found', card: yield* presentCard(ctx, card), codeLookup: used.lookup };
}

function* refuseUpdate(ctx: Context, card: Card, command: UpdateCommand): Script<void> {
  const { refusals, claims, claimedCode } = command;
  for (const [field, claim] of claims) {
    if (!isTrue(claim, field, card)) refusals.add(field, cannotBeChanged);
  }
  if (claimedCode) {
    const used = yield* findCode(ctx, card.storeId, claimedCode);
    if (used?.cardId !== card.id || !used.isCurrent) refusals.add('code', cannotBeChanged);
  }
  // A balance that is there already may be named, even if the limit was lowered since.
  const { balance } = effectiveChanges(card, command.changes);
  const { issueLimit } = command.store;
  if (balance && isAbove(issueLimit, balance)) refusals.add('balance', aboveLimit(issueLimit));
  for (const [field, messages] of Object.entries(refuseChanges(card, command.changes, command))) {
    for (const message of messages) refusals.add(field, message);
  }
  refusals.throwIfAny();
}

const cannotBeChanged = 'cannot be changed';
