/** Look up, spend and top up. These operations also work for callers who can redeem but not read gift cards. */

import type { Static } from 'typebox';
import type { Card } from '../domain/cards/card.ts';
import type { ExternalKind } from '../domain/external-id.ts';
import { Fault, type FaultCode } from '../domain/fault.ts';
import type { Transfer } from '../domain/money/ledger.ts';
import type { Money } from '../domain/money/money.ts';
import { spendableRecordOf, tillRecordOf, transactionOf } from '../domain/record.ts';
import { transactionSchema } from '../domain/schemas.ts';
import type { Store } from '../domain/stores/store.ts';
import type { Secret } from '../platform/secret.ts';
import type { Caller } from '../http/auth.ts';
import { cardEtagOf } from '../http/etag.ts';
import type { Context } from '../storage/context.ts';
import { lookUp, type CodeUse } from '../service/cards/lookup.ts';
import { assertNotInStock } from '../service/stocks/activation.ts';
import { today, type MoneyCommand, type NamedDetails } from '../service/money/money.ts';
import { showMovement } from '../service/money/movements.ts';
import { credit, debit, reverse, type MovementResult } from '../service/money/spend.ts';
import { topUp } from '../service/money/top-up.ts';
import {
  findRepeatedIfSame,
  withExternalId,
  type ExternalRequest,
} from '../service/requests/external-ids.ts';
import { locationOf } from '../service/stores/location.ts';
import type { Script } from '../storage/sql/sql.ts';
import type { WriteScope } from '../storage/storage.ts';
import { cardInPath } from './cards.ts';
import * as examples from './examples.ts';
import type { Values } from './field.ts';
import * as fields from './fields.ts';
import { write, type ReadRequest, type WriteRequest } from './operation.ts';
import { spendableCard } from './schemas.ts';

/** The fields of a movement that a caller can name. */
export const own = {
  reference: fields.reference,
  note: fields.note,
  order_id: fields.orderId,
  order_reference: fields.orderReference,
  external_id: fields.externalId,
  location_id: fields.locationId,
};

/** The fields of every operation that spends, adds or reserves an amount. */
export const spending = {
  amount: fields.amount,
  currency: fields.expectedCurrency,
  ...own,
};

/**
 * Returns the references of a movement in a request, and its location.
 * @throws Fault `invalid-parameter` as `locationOf` does.
 */
export function* namedOf({
  caller,
  store,
  body,
}: Pick<WriteRequest<string, Values<typeof own>>, 'caller' | 'store' | 'body'>): Script<NamedDetails> {
  return {
    reference: body.reference ?? null,
    note: body.note ?? null,
    orderId: body.order_id ?? null,
    orderReference: body.order_reference ?? null,
    externalId: body.external_id ?? null,
    locationId: yield* locationOf(store.id, { own: caller.locationId, named: body.location_id ?? null }),
  };
}

const moneyErrors: readonly FaultCode[] = [
  'not-found', 'precondition-failed', 'card-disabled', 'card-expired', 'card-suspended', 'currency-mismatch',
  'external-id-used',
]; // prettier-ignore
/** The content of a request with an external id. */
export function externalRequestOf(
  {
    caller,
    store,
    body,
  }: {
    readonly caller: Caller;
    readonly store: Store;
    readonly body: { readonly external_id?: string | null };
  },
  kind: ExternalKind,
  asked: ExternalRequest['asked'],
): ExternalRequest | null {
  const { external_id: text = null } = body;
  return text === null ? null : { storeId: store.id, kind, text, actor: caller.actor, asked };
}

/** The write scope of a movement: another card can have the external id. */
export function movementScope(
  request: Pick<
    WriteRequest<'/gift_card/:gift_card_id', { readonly external_id?: string | null }>,
    'store' | 'ids' | 'body'
  >,
): WriteScope | undefined {
  return (request.body.external_id ?? null) === null ? cardInPath(request) : undefined;
}

export const spendingErrors: readonly FaultCode[] = [...moneyErrors, 'insufficient-balance'];

export function mayRead({ scopes }: Caller): boolean {
  return scopes.includes('read_gift_cards');
}

type Viewer = { readonly ctx: Context; readonly caller: Caller };

/** A card as this caller can see it: without `read_gift_cards`, only the fields that a till needs. */
export function viewOf({ ctx, caller }: Viewer, card: Card): Static<typeof spendableCard> {
  const recordOf = mayRead(caller) ? spendableRecordOf : tillRecordOf;
  return recordOf(ctx.keys.publicIds, card, today(ctx, caller.store));
}

/** The headers of a response with this card. */
export function cardHeaders({ ctx }: Pick<Viewer, 'ctx'>, card: Card): { readonly etag: string } {
  return { etag: cardEtagOf(ctx.keys.publicIds, card) };
}

/** Runs a movement, unless an earlier request with the same external id has made it. */
function* moveOnce(
  request: Viewer & Parameters<typeof externalRequestOf>[0],
  asked: ExternalRequest['asked'],
  run: () => Script<MovementResult>,
) {
  const { ctx, store } = request;
  const { result, isRepeated } = yield* withExternalId(
    ctx,
    externalRequestOf(request, 'transaction', asked),
    {
      run,
      idOf: ({ transfer }) => transfer.id,
      find: (id) => showMovement(ctx, store.id, id),
    },
  );
  const { body, headers } = movementResult(request, result);
  return isRepeated ? { repeated: body, headers } : { body, headers };
}

/** An amount as external requests compare it. */
export function askedAmount(amount: Money | null): string | null {
  return amount && amount.minor.toString();
}

function movementResult(
  viewer: Viewer,
  { transfer, card }: { readonly transfer: Transfer; readonly card: Card },
) {
  return {
    body: {
      transaction: transactionOf(viewer.ctx.keys.publicIds, transfer),
      gift_card: viewOf(viewer, card),
    },
    headers: cardHeaders(viewer, card),
  };
}

/** Returns the versions (`versionTagOf`) that `If-Match` lists for a card, by its internal id. */
export function cardVersions({
  ctx,
  ifMatch,
}: Pick<WriteRequest<string, unknown>, 'ctx' | 'ifMatch'>): (cardId: number) => readonly string[] | null {
  return (cardId) => ifMatch(ctx.keys.publicIds.of(cardId));
}

/** @throws Fault `currency-mismatch` if the caller expects another currency than the card's, and as `namedOf` does. */
export function* moneyCommand(
  request: WriteRequest<string, Omit<Values<typeof spending>, 'amount'>>,
  cardId: number,
): Script<MoneyCommand> {
  const { caller, store, body } = request;
  const { currency: expected = null } = body;
  const { code } = store.currency;
  if (expected !== null && expected !== code) {
    throw new Fault('currency-mismatch', {
      detail: `The gift card is in ${code}.`,
      errors: { currency: [`is ${expected}, but the gift card is in ${code}`] },
    });
  }
  const versions = cardVersions(request)(cardId);
  return { store, cardId, actor: caller.actor, ...(yield* namedOf(request)), versions };
}

const moved = {
  status: 201,
  members: { transaction: transactionSchema, gift_card: spendableCard },
  example: { transaction: examples.transaction, gift_card: examples.spendable },
  headers: ['ETag'],
  repeated: {
    members: { transaction: transactionSchema, gift_card: spendableCard },
    example: { transaction: examples.transaction, gift_card: examples.spendable },
  },
} as const;

/**
 * Rejects a code that no card has. Its other meaning is recorded after the response, which takes as long as that for an
 * unknown code; only a caller who may activate it learns that a code is in stock.
 * @throws Fault `not-found` or `not-activated`, always.
 */
export function* rejectMissed(
  {
    caller,
    store,
    requestContext,
    after,
  }: Pick<ReadRequest<string, unknown, unknown>, 'caller' | 'store' | 'requestContext' | 'after'>,
  use: CodeUse | null,
): Script<never> {
  if (use?.kind === 'stocked' && caller.scopes.includes('write_gift_cards'))
    yield* assertNotInStock({ storeId: store.id, lookup: use.lookup });
  else if (use?.kind === 'stocked') after(() => requestContext.recordStockTry(use.lookup));
  else if (use) after(() => requestContext.recordRetiredCode(use.cardId));
  throw new Fault('not-found');
}

function askedDebit(
  cardId: number,
  { amount, partial = false }: { readonly amount: Money; readonly partial?: boolean },
): ExternalRequest['asked'] {
  return ['debit', cardId, askedAmount(amount), partial];
}

/**
 * A till does not find a card that can no longer be used by its code. The repetition of its own redemption finds it.
 * @returns null: it is not a repetition.
 */
function* findRepeatedRedemption(
  request: Viewer &
    Parameters<typeof externalRequestOf>[0] & {
      readonly body: { readonly code: Secret; readonly amount: Money; readonly partial?: boolean };
    },
) {
  const { ctx, store, body } = request;
  if ((body.external_id ?? null) === null) return null;
  const found = yield* lookUp(ctx, { store, code: body.code, usableOnly: false });
  if (found.kind === 'missed') return null;
  const asked = externalRequestOf(request, 'transaction', askedDebit(found.card.id, body));
  const id = asked && (yield* findRepeatedIfSame(ctx, asked));
  if (id === null) return null;
  const { body: repeated, headers } = movementResult(request, yield* showMovement(ctx, store.id, id));
  return { repeated, headers };
}

export const redeemGiftCard = write({
  id: 'redeemGiftCard',
  method: 'POST',
  path: '/gift_card/redeem',
  scopes: ['redeem_gift_cards'],
  tag: 'Money',
  summary: 'Redeem a gift card by its code',
  description:
    'Looks up a gift card by its code and debits it in one request, with the rules of both operations.',
  isSearch: true,
  body: {
    name: 'Redeem',
    wrapper: 'transaction',
    fields: { code: fields.requiredCode, ...spending, partial: fields.partial },
    example: { code: examples.exampleCode, amount: '10.00' },
  },
  response: { ...moved, description: 'The debit.' },
  errors: [...spendingErrors, 'not-activated'],
  sample: { idempotencyKey: 'till-7-receipt-1017' },
  *run(request) {
    const { ctx, caller, store, body } = request;
    const { code, amount, partial = false } = body;
    const found = yield* lookUp(ctx, { store, code, usableOnly: !mayRead(caller) });
    if (found.kind === 'missed')
      return (yield* findRepeatedRedemption(request)) ?? (yield* rejectMissed(request, found.use));
    const { card, codeLookup } = found;
    return yield* moveOnce(request, askedDebit(card.id, body), function* () {
      return yield* debit(ctx, { ...(yield* moneyCommand(request, card.id)), amount, partial, codeLookup });
    });
  },
});

export const debitGiftCard = write({
  id: 'debitGiftCard',
  method: 'POST',
  path: '/gift_card/:gift_card_id/debit',
  scopes: ['redeem_gift_cards'],
  tag: 'Money',
  summary: 'Debit a gift card',
  description:
    'Debits an amount from the available balance (the balance minus open holds). Fails with `insufficient-balance`, which reports the available amount, unless `partial` is set; then it debits the available amount. Concurrent debits never overspend.',
  body: {
    name: 'Debit',
    wrapper: 'transaction',
    fields: { ...spending, partial: fields.partial },
    example: { amount: '10.00', reference: 'receipt-1017' },
  },
  response: { ...moved, description: 'The debit.' },
  errors: spendingErrors,
  sample: { idempotencyKey: 'till-7-receipt-1017' },
  writeScope: movementScope,
  *run(request) {
    const { ctx, ids, body } = request;
    const { amount, partial = false } = body;
    return yield* moveOnce(request, askedDebit(ids.gift_card_id, body), function* () {
      return yield* debit(ctx, { ...(yield* moneyCommand(request, ids.gift_card_id)), amount, partial });
    });
  },
});

/** Only of credits with the kind `top_up`. */
const topUpFields = { expires_on: fields.laterExpiresOn, notify: fields.notifyHolder };
const topUpFieldNames = ['expires_on', 'notify'] as const satisfies readonly (keyof typeof topUpFields)[];

export const creditGiftCard = write({
  id: 'creditGiftCard',
  method: 'POST',
  path: '/gift_card/:gift_card_id/credit',
  scopes: ['write_gift_cards'],
  tag: 'Money',
  summary: 'Credit a gift card',
  description:
    'Adds an amount to an active gift card. The balance cannot exceed the store’s own limit. With the kind `top_up` it is a sale: it has its own account in the journal, its VAT is that of the card, and the holder of the card gets a receipt by email. A top-up can also set a later `expires_on`, in the same transaction; an expired card cannot be topped up.',
  body: {
    name: 'Credit',
    wrapper: 'transaction',
    fields: { ...spending, kind: fields.creditKind, ...topUpFields },
    example: { amount: '10.00', kind: 'top_up' },
  },
  response: {
    ...moved,
    description: 'The credit.',
    example: {
      transaction: { ...examples.transaction, kind: 'top_up', amount: '10.00', balance_after: '25.00' },
      gift_card: examples.spendable,
    },
  },
  errors: moneyErrors,
  sample: { idempotencyKey: 'top-up-204' },
  writeScope: movementScope,
  check({ kind = null, ...values }, errors) {
    if (kind !== null || errors.has('kind')) return;
    for (const name of topUpFieldNames)
      if (values[name] !== undefined) errors.add(name, 'is accepted only with the kind top_up');
  },
  *run(request) {
    const { ctx, ids, body } = request;
    const { amount, kind = null, expires_on: expiresOn = null } = body;
    return yield* moveOnce(request, [kind ?? 'credit', ids.gift_card_id, askedAmount(amount)], function* () {
      const command = { ...(yield* moneyCommand(request, ids.gift_card_id)), amount };
      return yield* kind === null
        ? credit(ctx, command)
        : topUp(ctx, { ...command, expiresOn, notify: body.notify ?? true });
    });
  },
});

export const reverseTransaction = write({
  id: 'reverseTransaction',
  method: 'POST',
  path: '/transactions/:transaction_id/reverse',
  scopes: ['redeem_gift_cards', 'write_gift_cards'],
  tag: 'Money',
  summary: 'Reverse a transaction',
  description:
    'Reverses a debit or capture in whole or in part, at most its amount, or a credit or top-up, at most the balance minus open holds. A credit or top-up requires `write_gift_cards`, the others `redeem_gift_cards`. The reversal works on an expired or suspended card, not on a disabled one. It has the order and the references of the transaction, unless the request names others.',
  body: {
    name: 'Reverse',
    wrapper: 'transaction',
    fields: { amount: fields.optionalAmount, ...own },
    example: { amount: '4.00', note: 'Returned one item' },
  },
  response: {
    ...moved,
    description: 'The reversal.',
    example: {
      transaction: {
        ...examples.transaction,
        id: examples.publicId(7420981135700466),
        kind: 'reversal',
        amount: '4.00',
        balance_after: '19.00',
        reverses: examples.transaction.id,
      },
      gift_card: examples.spendable,
    },
  },
  errors: [
    'not-found', 'precondition-failed', 'card-disabled', 'not-reversible', 'reversal-exceeds-transaction',
    'insufficient-balance', 'external-id-used',
  ],
  sample: { body: { amount: '4.00' }, idempotencyKey: 'return-55' },
  usesUpExternalIds: true,
  *run(request) {
    const { ctx, caller, store, ids, body } = request;
    const { amount = null } = body;
    const { actor, scopes } = caller;
    const transferId = ids.transaction_id;
    const versionsOf = cardVersions(request);
    return yield* moveOnce(request, ['reversal', transferId, askedAmount(amount)], function* () {
      const named = yield* namedOf(request);
      return yield* reverse(ctx, { store, transferId, amount, actor, ...named, scopes, versionsOf });
    });
  },
}); // prettier-ignore
