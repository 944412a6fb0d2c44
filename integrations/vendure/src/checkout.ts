/** Pays for an order with a gift card: holds an amount on it, at most what the card has. */

import { Logger, type CreatePaymentErrorResult, type CreatePaymentResult, type Order } from '@vendure/core';
import {
  ApiError,
  responseOf,
  type CreateHold,
  type Hold,
  type Largesse,
  type RequestOptions,
  type SpendableGiftCard,
  type TillGiftCard,
} from 'largesse-client';
import { decimalOf, integerOf, roundedDown } from './amounts.ts';
import {
  codeOf,
  externalIdOf,
  holdsOf,
  isUnknown,
  orderReferenceOf,
  requestErrorOf,
  visitorOf,
  type GiftCards,
  type Person,
} from './gift-cards.ts';
import type { Settings } from './options.ts';
import { isHeldBy, logContext, type HeldMetadata } from './payment.ts';

export interface Checkout {
  order: Order;
  /** The amount that is left to pay, as an integer of Vendure. */
  due: number;
  /** The decimals of Vendure's integers. */
  precision: number;
  /** The metadata of the request, from the storefront. */
  sent: Readonly<Record<string, unknown>>;
  person: Person;
}

/** A reason not to take a card, for the customer. */
class Declined extends Error {}

/**
 * Holds an amount on the card whose code the storefront sent. The result is `Authorized` with at most `due`, `Declined` if
 * the card cannot pay, and `Error` if Largesse does not respond in time. Nothing of the code is in the result.
 */
export async function holdGiftCard(
  settings: Settings,
  cards: GiftCards,
  checkout: Checkout,
): Promise<CreatePaymentResult | CreatePaymentErrorResult> {
  const { order } = checkout;
  try {
    assertAttemptsLeft(settings, order);
    const code = typedCode(checkout.sent);
    return await authorized(settings, cards, { ...checkout, code });
  } catch (error) {
    if (error instanceof Declined) return declined(error.message);
    if (error instanceof ApiError && error.fields['code'] !== undefined) return declined(notCode);
    const { message } = requestErrorOf(error);
    if (codeOf(error) === 'not-found')
      return { ...declined('There is no gift card with this code'), metadata: { isUnknownCode: true } };
    Logger.warn(`Order ${order.code}: the gift card was not held: ${message}`, logContext);
    const errorMessage = 'The gift card cannot be checked at the moment. Try again, or pay in another way';
    return { amount: 0, state: 'Error', errorMessage };
  }
}

function declined(errorMessage: string): CreatePaymentResult {
  return { amount: 0, state: 'Declined', errorMessage };
}

/** Customers can make many orders, so Largesse limits the unknown codes of a person as well. */
function assertAttemptsLeft({ attemptsMax }: Settings, { payments }: Order): void {
  const unknown = payments.filter(
    ({ state, metadata }) => state === 'Declined' && metadata?.['isUnknownCode'] === true,
  );
  if (unknown.length >= attemptsMax)
    throw new Declined('Too many unknown gift card codes were entered for this order');
}

const notCode = 'This is not the code of a gift card';

/** Longer texts are not codes for Largesse, which reads what was typed. */
const codeLengthMax = 700;

/** @throws Declined for a text that cannot be a code. */
function typedCode({ code }: Checkout['sent']): string {
  const isText = typeof code === 'string' && code.trim() !== '' && code.length <= codeLengthMax;
  if (!isText) throw new Declined(notCode);
  return code;
}

/** Holds what the card can pay. @throws Declined, LargesseError */
async function authorized(
  settings: Settings,
  cards: GiftCards,
  { order, due, precision, code, person }: Checkout & { readonly code: string },
): Promise<CreatePaymentResult> {
  const options = cards.checkoutTime();
  const attempt = await nextAttempt(cards, order, options);
  const named = { ...options, visitor: visitorOf(settings, person) };
  const card = await lookUp(cards, { code, email: order.customer?.emailAddress }, named);
  assertUsable(card, order);
  const amount = roundedDown(Math.min(due, integerOf(card.available, precision)), precision, card.available);
  if (amount <= 0) throw new Declined('This gift card is empty');
  const held = await holdOnce(cards, card.id, options, {
    amount: decimalOf(amount, precision),
    currency: order.currencyCode,
    expires_in: settings.checkoutSeconds,
    order_reference: orderReferenceOf(order.code),
    external_id: externalIdOf(order.code, 'hold', attempt, card.id),
  });
  const metadata: HeldMetadata = {
    handler: settings.code,
    holdId: held.id,
    giftCardId: card.id,
    public: { lastCharacters: card.last_characters },
  };
  return { amount, state: 'Authorized', transactionId: String(held.id), metadata };
}

/**
 * Finds a card by its code. While customers have entered too many unknown codes, Largesse finds a code that the shop chose only
 * with an address of the card. It can reject an address that Vendure accepts.
 */
async function lookUp(
  { client }: GiftCards,
  { code, email }: { readonly code: string; readonly email: string | undefined },
  options: RequestOptions,
): Promise<SpendableGiftCard | TillGiftCard> {
  try {
    const sent = email === undefined || email === '' ? { code } : { code, email };
    return (await client.cards.lookup(sent, options)).gift_card;
  } catch (error) {
    if (!(error instanceof ApiError) || error.fields['email'] === undefined) throw error;
    return (await client.cards.lookup({ code }, options)).gift_card;
  }
}

/**
 * Releases holds of attempts that ended before Vendure stored their payments, as in a crash, and returns the number of the
 * next attempt.
 * @throws Declined if such a hold is so young that its attempt can still be in progress.
 */
async function nextAttempt(
  cards: GiftCards,
  { code, payments }: Order,
  options: RequestOptions,
): Promise<number> {
  const found = await holdsOf(cards, code, options);
  for (const { hold, ageMs } of found) {
    if (hold.status !== 'open' || isHeldBy(payments, hold)) continue;
    if (ageMs < cards.inProgressMs) throw new Declined(inProgress);
    await cards.client.holds.void(hold.id, options);
  }
  return payments.length + found.length;
}

const inProgress = 'A gift card is being added to this order. Try again in a few seconds';

/** @throws Declined for a card that cannot pay for the order. */
function assertUsable(
  { state, currency }: Pick<SpendableGiftCard, 'state' | 'currency'>,
  order: Order,
): void {
  const needed: string = order.currencyCode;
  if (currency !== needed)
    throw new Declined(`This gift card is in ${currency}, and the order is in ${needed}`);
  if (state !== 'active') throw new Declined(`This gift card is ${state}`);
}

/** Rejections that depend on the card, which can have changed since it was looked up. */
const rejections = new Set(['insufficient-balance', 'card-disabled', 'card-expired', 'card-suspended']);

/**
 * Creates a hold. All attempts have the same external id, so they hold once.
 * @throws Declined if the card has changed, or another request has used the external id.
 */
async function holdOnce(
  { client }: GiftCards,
  cardId: number,
  options: RequestOptions,
  request: CreateHold & { readonly external_id: string },
): Promise<Hold> {
  try {
    const result = await client.cards.hold(cardId, request, options);
    // The hold of another request is not this payment's, which is a 200.
    if (responseOf(result).status !== 201) throw new Declined(inProgress);
    return result.hold;
  } catch (error) {
    if (isUnknown(error)) await forget(client, request.external_id);
    const code = codeOf(error) ?? '';
    if (code === 'external-id-used') throw new Declined(inProgress);
    if (rejections.has(code)) throw new Declined('This gift card has changed. Try again');
    throw error;
  }
}

/** Voids a hold that may exist or still arrive: a void uses the external id up. */
async function forget(client: Largesse, externalId: string): Promise<void> {
  try {
    await client.holds.void(`external:${externalId}`, { signal: AbortSignal.timeout(forgetMs) });
  } catch (error) {
    // Without a response, the hold ends by itself, or when the order is placed or paid for again.
    requestErrorOf(error);
  }
}

const forgetMs = 1_000;
