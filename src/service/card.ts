/** The four operations on gift cards, each one transaction. */

import type { Context } from '../context.ts';
import { choose, effectiveChanges, refuseChanges, type Card, type CardChanges } from '../domain/card.ts';
import { lastCharactersOf, randomCode } from '../domain/code.ts';
import { dayOf } from '../domain/day.ts';
import type { EmailAddress } from '../domain/email.ts';
import { cardCreated, cardUpdated, customerCreated } from '../domain/event.ts';
import { Fault, type Refusals } from '../domain/fault.ts';
import { adjustmentOf, issueOf } from '../domain/ledger.ts';
import type { Money } from '../domain/money.ts';
import { isTrue, type ClaimableField } from '../domain/record.ts';
import type { Secret } from '../domain/secret.ts';
import type { Store } from '../domain/store.ts';
import { findCard, findCardsOfCustomer, insertCard, replaceCard } from '../storage/card.ts';
import { findCardIdByCode, insertCode } from '../storage/code.ts';
import { findCustomer, findOrInsertCustomer } from '../storage/customer.ts';
import { announce } from '../storage/event.ts';
import { Rerun, type Script } from '../storage/sql.ts';
import { recordFirstTransfer, recordTransfer } from '../storage/transfer.ts';

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
};

/**
 * Issues a card: its customers, if they are new, the card, its code, and the first transfer.
 * @throws Fault `invalid-parameter` if the store has used the chosen code before.
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
    reverses: null,
    createdAt: now,
  });
  yield* announce(ctx, cardCreated(card));
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
  const card = yield* findCard(storeId, cardId);
  if (!card) throw new Fault('not-found');
  return card;
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
  const card = yield* retrieve(command.store.id, command.cardId);
  if (command.versions && !command.versions.includes(card.version)) throw new Fault('precondition-failed');
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
      reverses: null,
      createdAt: now,
    });
  }
  for (const event of cardUpdated(changed, effective)) yield* announce(ctx, event);
  return changed;
}

function* refuseUpdate(ctx: Context, card: Card, command: UpdateCommand): Script<void> {
  const { refusals, claims, claimedCode } = command;
  for (const [field, claim] of claims) {
    if (!isTrue(claim, field, card)) refusals.add(field, cannotBeChanged);
  }
  if (claimedCode && (yield* findCardIdByCode(ctx, card.storeId, claimedCode)) !== card.id) {
    refusals.add('code', cannotBeChanged);
  }
  for (const [field, messages] of Object.entries(refuseChanges(card, command.changes))) {
    for (const message of messages) refusals.add(field, message);
  }
  refusals.throwIfAny();
}

const cannotBeChanged = 'cannot be changed';
