/**
 * The movements of payments at Mollie. The key of a website profile may not read balances or settlements, so they are the
 * lists of payments, refunds and chargebacks, which have neither fees nor payouts of their own.
 */

import type Type from 'typebox';
import type { Static } from 'typebox';
import type { Money } from '../../../core/money/domain/money.ts';
import type { ProviderMovementPage, ProviderMovement } from '../domain/payment.ts';
import { mapOutcome, type CallOutcome } from './provider-call.ts';
import {
  instantIn,
  metadataText,
  mollieChargebacks,
  molliePayments,
  mollieRefunds,
  moneyIn,
  type mollieChargeback,
  type molliePayment,
  type mollieRefund,
} from './mollie-objects.ts';

type Get = <Schema extends Type.TSchema>(
  path: string,
  schema: Schema,
) => Promise<CallOutcome<Static<Schema>>>;

const dayMs = 86_400_000;
const pageSize = 50;

/**
 * The lists are in the order of creation, newest first. A bank transfer can be paid weeks after its payment was created, and
 * a chargeback can be reversed months after it.
 */
const lists = {
  payments: { earlierMs: 35 * dayMs, after: 'refunds' },
  refunds: { earlierMs: 0, after: 'chargebacks' },
  chargebacks: { earlierMs: 180 * dayMs, after: null },
} as const;

type List = keyof typeof lists;

/** A cursor is the name of a list, and the id of the first object of a page. */
function positionOf(cursor: string | null): { readonly list: List; readonly from: string } | undefined {
  if (cursor === null) return { list: 'payments', from: '' };
  const [, list, from = ''] =
    /^(payments|refunds|chargebacks):((?:tr|re|chb)_\w{1,100})?$/.exec(cursor) ?? [];
  return list === undefined ? undefined : { list: list as List, from };
}

/** A page of movements since an instant (ms). */
export async function readMovements(
  get: Get,
  { since, cursor }: { readonly since: number; readonly cursor: string | null },
): Promise<CallOutcome<ProviderMovementPage>> {
  const position = positionOf(cursor);
  if (!position) return { kind: 'rejected', detail: 'the cursor is not valid', status: 400 };
  const { list, from } = position;
  const path = `/${list}?limit=${pageSize}${from === '' ? '' : `&from=${from}`}`;
  const page = await readList(get, list, path);
  return mapOutcome(page, ({ found, oldest, nextUrl }) => {
    const { earlierMs, after } = lists[list];
    const isRead = oldest === undefined || oldest < since - earlierMs;
    const nextFrom = nextUrl === undefined || isRead ? null : fromIn(nextUrl);
    const next = nextFrom === null ? after && `${after}:` : `${list}:${nextFrom}`;
    return { movements: found.filter(({ at }) => at >= since), next };
  });
}

/** Only the parameter is read: the service sends its key to Mollie only. */
function fromIn(url: string): string | null {
  return URL.parse(url)?.searchParams.get('from') ?? null;
}

type Read = {
  readonly found: readonly ProviderMovement[];
  /** The creation of the last object of the page, in ms. */
  readonly oldest: number | undefined;
  readonly nextUrl: string | undefined;
};

async function readList(get: Get, list: List, path: string): Promise<CallOutcome<Read>> {
  switch (list) {
    case 'payments':
      return mapOutcome(await get(path, molliePayments), ({ _embedded: { payments }, _links }) =>
        readOf(payments, paidMovements, _links),
      );
    case 'refunds':
      return mapOutcome(await get(path, mollieRefunds), ({ _embedded: { refunds }, _links }) =>
        readOf(refunds, refundMovements, _links),
      );
    case 'chargebacks':
      return mapOutcome(await get(path, mollieChargebacks), ({ _embedded: { chargebacks }, _links }) =>
        readOf(chargebacks, chargebackMovements, _links),
      );
  }
}

function readOf<Item extends { readonly createdAt: string }>(
  items: readonly Item[],
  movementsOf: (item: Item) => readonly ProviderMovement[],
  { next }: Static<typeof molliePayments>['_links'],
): Read {
  const oldest = instantIn(items.at(-1)?.createdAt);
  return { found: items.flatMap(movementsOf), oldest, nextUrl: next?.href };
}

type Settled = { readonly id: string; readonly settlementId?: string | null | undefined };

function movementOf(
  { id, settlementId }: Settled,
  movement: Pick<ProviderMovement, 'kind' | 'amount' | 'at' | 'paymentId' | 'saleKey'>,
): ProviderMovement {
  const fee: Money = { minor: 0n, currency: movement.amount.currency };
  return { id, ...movement, fee, payoutId: settlementId ?? null };
}

function negative({ minor, currency }: Money): Money {
  return { minor: -minor, currency };
}

function paidMovements(payment: Static<typeof molliePayment>): readonly ProviderMovement[] {
  const [amount, at] = [moneyIn(payment.amount), instantIn(payment.paidAt)];
  if (!amount || at === undefined || payment.status !== 'paid') return [];
  return [
    movementOf(payment, {
      kind: 'payment',
      amount,
      at,
      paymentId: payment.id,
      saleKey: metadataText(payment.metadata, 'sale'),
    }),
  ];
}

function refundMovements(refund: Static<typeof mollieRefund>): readonly ProviderMovement[] {
  const [amount, at] = [moneyIn(refund.amount), instantIn(refund.createdAt)];
  if (!amount || at === undefined || ['failed', 'canceled'].includes(refund.status)) return [];
  const { paymentId } = refund;
  return [movementOf(refund, { kind: 'refund', amount: negative(amount), at, paymentId, saleKey: null })];
}

function chargebackMovements(chargeback: Static<typeof mollieChargeback>): readonly ProviderMovement[] {
  const [amount, at] = [moneyIn(chargeback.amount), instantIn(chargeback.createdAt)];
  if (!amount || at === undefined) return [];
  const { paymentId } = chargeback;
  const taken = movementOf(chargeback, {
    kind: 'dispute',
    amount: negative(amount),
    at,
    paymentId,
    saleKey: null,
  });
  const reversedAt = instantIn(chargeback.reversedAt);
  return reversedAt === undefined
    ? [taken]
    : [
        taken,
        movementOf(
          { ...chargeback, id: `${chargeback.id}-reversed` },
          { kind: 'dispute', amount, at: reversedAt, paymentId, saleKey: null },
        ),
      ];
}
