/** Spend, top up and reverse. These operations also work for callers who can redeem but not read gift cards. */

import type { Card } from '../../cards/domain/card.ts';
import type { Transfer } from '../domain/ledger.ts';
import type { Money } from '../domain/money.ts';
import { transactionOf } from '../../cards/domain/record.ts';
import { transactionSchema } from '../../cards/domain/schemas.ts';
import type { Readings } from '../../cards/domain/given-code.ts';
import { lookUp } from '../../cards/service/lookup.ts';
import { showMovement } from '../service/movements.ts';
import { credit, debit, reverse, type MovementResult } from '../service/spend.ts';
import { topUp } from '../service/top-up.ts';
import {
  findRepeatedIfSame,
  withExternalId,
  type ExternalRequest,
} from '../../requests/service/external-ids.ts';
import type { Script } from '../../../database/sql/sql.ts';
import * as examples from '../../../api/examples.ts';
import * as fields from '../../cards/api/fields.ts';
import { write } from '../../../api/operation.ts';
import { spendableCard } from '../../../api/schemas.ts';
import {
  own,
  spending,
  namedOf,
  moneyErrors,
  externalRequestOf,
  movementScope,
  spendingErrors,
  mayRead,
  type ExternalBody,
  type Naming,
  type Viewer,
  viewOf,
  cardHeaders,
  askedAmount,
  cardVersions,
  isCodeServed,
  moneyCommand,
  rejectMissed,
} from './movement.ts';

/** Runs a movement, unless an earlier request with the same external id has made it. */
function* moveOnce(
  request: Viewer & Naming,
  asked: ExternalRequest['asked'],
  run: () => Script<MovementResult>,
) {
  const { ctx, store } = request;
  const { result, isRepeated } = yield* withExternalId(
    ctx,
    externalRequestOf(request, 'transaction', asked),
    { run, idOf: ({ transfer }) => transfer.id, find: (id) => showMovement(ctx, store.id, id) },
  );
  const { body, headers } = movementResult(request, result);
  return isRepeated ? { repeated: body, headers } : { body, headers };
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
  request: Viewer & Naming<ExternalBody & { code: Readings; amount: Money; partial?: boolean }>,
) {
  const { ctx, store, body } = request;
  if ((body.external_id ?? null) === null) return null;
  const found = yield* lookUp(ctx, { store, readings: body.code, usableOnly: false });
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
    fields: {
      code: fields.requiredCode,
      email: fields.holderEmail,
      ...spending,
      partial: fields.partial,
    },
    example: { code: examples.exampleCode, amount: '10.00' },
  },
  response: { ...moved, description: 'The debit.' },
  errors: [...spendingErrors, 'not-activated'],
  sample: { idempotencyKey: 'till-7-receipt-1017' },
  isServed: isCodeServed,
  *run(request) {
    const { ctx, caller, store, body } = request;
    const { code, amount, partial = false } = body;
    const found = yield* lookUp(ctx, { store, readings: code, usableOnly: !mayRead(caller) });
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
  isUnlimited: true,
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
