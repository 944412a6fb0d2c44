/** A movement of money in a request and a response: its fields, its card as the caller can see it, its external id. */

import type { Static } from 'typebox';
import type { Card } from '../../cards/domain/card.ts';
import type { ExternalKind } from '../../domain/external-id.ts';
import { Fault, type FaultCode } from '../../domain/fault.ts';
import type { Money } from '../domain/money.ts';
import { spendableRecordOf, tillRecordOf } from '../../cards/domain/record.ts';
import type { Caller } from '../../../http/auth.ts';
import { cardEtagOf } from '../../../http/etag.ts';
import type { Readings } from '../../cards/domain/given-code.ts';
import type { Context } from '../../storage/context.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import { isAddressOf, lookUp, type CodeUse } from '../../cards/service/lookup.ts';
import { assertNotInStock } from '../../stocks/service/activation.ts';
import { today } from '../../stores/service/day.ts';
import type { MoneyCommand, NamedDetails } from '../service/transfer.ts';
import type { ExternalRequest } from '../../requests/service/external-ids.ts';
import { locationOf } from '../../stores/service/location.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { WriteScope } from '../../../database/storage.ts';
import { cardInPath } from '../../cards/api/cards.ts';
import type { Values } from '../../../api/field.ts';
import * as fields from '../../cards/api/fields.ts';
import type { ReadRequest, WriteRequest } from '../../../api/operation.ts';
import type { spendableCard } from '../../../api/schemas.ts';

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
export const spending = { amount: fields.amount, currency: fields.expectedCurrency, ...own };

/**
 * Returns the references of a movement in a request, and its location.
 * @throws Fault `invalid-parameter` as `locationOf` does.
 */
export function* namedOf({ caller, store, body }: Naming<Values<typeof own>>): Script<NamedDetails> {
  return {
    reference: body.reference ?? null,
    note: body.note ?? null,
    orderId: body.order_id ?? null,
    orderReference: body.order_reference ?? null,
    externalId: body.external_id ?? null,
    locationId: yield* locationOf(store.id, { own: caller.locationId, named: body.location_id ?? null }),
  };
}

export const moneyErrors: readonly FaultCode[] = [
  'not-found', 'precondition-failed', 'card-disabled', 'card-expired', 'card-suspended', 'currency-mismatch',
  'external-id-used',
]; // prettier-ignore

/** A request of a caller who can name an external id. */
export type ExternalBody = { readonly external_id?: string | null };
export type Naming<Body = ExternalBody> = Pick<WriteRequest<string, Body>, 'caller' | 'store' | 'body'>;

/** The content of a request with an external id. */
export function externalRequestOf(
  { caller, store, body: { external_id: text = null } }: Naming,
  kind: ExternalKind,
  asked: ExternalRequest['asked'],
): ExternalRequest | null {
  return text === null ? null : { storeId: store.id, kind, text, actor: caller.actor, asked };
}

/** The write scope of a movement: another card can have the external id. */
export function movementScope(
  request: Pick<WriteRequest<'/gift_card/:gift_card_id', ExternalBody>, 'store' | 'ids' | 'body'>,
): WriteScope | undefined {
  return (request.body.external_id ?? null) === null ? cardInPath(request) : undefined;
}

export const spendingErrors: readonly FaultCode[] = [...moneyErrors, 'insufficient-balance'];

export function mayRead({ scopes }: Caller): boolean {
  return scopes.includes('read_gift_cards');
}

export type Viewer = { readonly ctx: Context; readonly caller: Caller };

/** A card as this caller can see it: without `read_gift_cards`, only the fields that a till needs. */
export function viewOf({ ctx, caller }: Viewer, card: Card): Static<typeof spendableCard> {
  const recordOf = mayRead(caller) ? spendableRecordOf : tillRecordOf;
  return recordOf(ctx.keys.publicIds, card, today(ctx, caller.store));
}

/** The headers of a response with this card. */
export function cardHeaders({ ctx }: Pick<Viewer, 'ctx'>, card: Card): { readonly etag: string } {
  return { etag: cardEtagOf(ctx.keys.publicIds, card) };
}

/** An amount as external requests compare it. */
export function askedAmount(amount: Money | null): string | null {
  return amount && amount.minor.toString();
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

/**
 * Whether a code is served while a budget of failed lookups is exhausted: one that the service generated, also of a printed
 * card for a caller who may activate it; or, while only the budget of all visitors is, one with an address of its card.
 */
export function* isCodeServed({
  ctx,
  caller,
  store,
  body: { code, email = null },
  requestContext: { lookup },
}: Pick<
  ReadRequest<string, unknown, { readonly code?: Readings; readonly email?: EmailAddress | null }>,
  'ctx' | 'caller' | 'store' | 'body' | 'requestContext'
>): Script<boolean> {
  // Without a code, the request has errors.
  if (!code) return true;
  const found = yield* lookUp(ctx, { store, readings: code, usableOnly: !mayRead(caller) });
  const isGenerated =
    found.kind === 'found'
      ? found.isGenerated
      : found.use?.kind === 'stocked' && found.use.isGenerated && mayActivate(caller);
  if (isGenerated || !lookup.exhausted?.acceptsAddress || email === null) return isGenerated;
  const isOwn = found.kind === 'found' && isAddressOf(found.card, email);
  lookup.countAddress(isOwn ? 0 : 1);
  return isOwn;
}

function mayActivate({ scopes }: Caller): boolean {
  return scopes.includes('write_gift_cards');
}

/**
 * Rejects a code that no card has. Its other meaning is recorded after the response, which takes as long as that for an
 * unknown code; only a caller who may activate it learns that a code is in stock.
 * @throws Fault `not-found` or `not-activated`, always.
 */
export function* rejectMissed(
  request: Pick<ReadRequest<string, unknown, unknown>, 'caller' | 'store' | 'requestContext' | 'after'>,
  use: CodeUse | null,
): Script<never> {
  const { requestContext, after } = request;
  if (use?.kind === 'stocked' && mayActivate(request.caller))
    yield* assertNotInStock({ storeId: request.store.id, lookup: use.lookup });
  else if (use?.kind === 'stocked') after(() => requestContext.recordStockTry(use.lookup));
  else if (use) after(() => requestContext.recordRetiredCode(use.cardId));
  throw new Fault('not-found');
}
