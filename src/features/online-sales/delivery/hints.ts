/** The notifications of providers. A hint names what is read again at the provider, and nothing else. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import Type from 'typebox';
import { Check } from 'typebox/schema';
import type { HintReading, ProviderHint } from '../domain/payment.ts';
import type { Secret } from '../../../platform/secret.ts';

/** Stripe's libraries reject signatures that are older or younger. */
const toleranceMs = 5 * 60_000;
const headerLengthMax = 2_000;

/**
 * Whether a signature of Stripe is valid (https://docs.stripe.com/webhooks/signature). While a secret is replaced, the
 * header has a signature of each.
 */
export function isSignedByStripe({ headers, body, now }: ProviderHint, secret: Secret): boolean {
  const header = headers['stripe-signature'] ?? '';
  if (header.length > headerLengthMax) return false;
  const parts = header.split(',').map((part) => part.trim().split('='));
  const valuesOf = (name: string): readonly string[] =>
    parts.flatMap(([key, value = '']) => (key === name ? [value] : []));
  const [time = '', ...others] = valuesOf('t');
  if (!/^\d{1,12}$/.test(time) || others.length > 0) return false;
  if (Math.abs(now - Number(time) * 1_000) > toleranceMs) return false;
  const expected = createHmac('sha256', secret.reveal()).update(`${time}.`).update(body).digest();
  return valuesOf('v1').some((text) => {
    const given = Buffer.from(text, 'hex');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

const objectId = Type.String({ maxLength: 255 });
const stripeEvent = Type.Object({
  data: Type.Object({
    object: Type.Object({
      id: objectId,
      payment_intent: Type.Optional(Type.Union([objectId, Type.Null()])),
    }),
  }),
});

/** An event without a copy of its object (https://docs.stripe.com/event-destinations). */
const thinEvent = Type.Object({
  object: Type.Literal('v2.core.event'),
  related_object: Type.Object({ id: objectId, type: Type.String({ maxLength: 100 }) }),
});

/** The lists in which Stripe has the objects of a payment, by the types of related objects. */
const relatedLists: Readonly<Record<string, string>> = {
  charge: 'charges',
  refund: 'refunds',
  dispute: 'disputes',
  'radar.early_fraud_warning': 'radar/early_fraud_warnings',
};

const isStripePayment = (text: string): boolean => /^(?:cs|pi)_\w+$/.test(text);

/** The Checkout Session or the payment intent of an event, or the path of the object of a thin one. */
export function stripeSubjectOf(body: Uint8Array): Pick<HintReading, 'ids' | 'related'> {
  const event = parsedJson(body);
  if (Check(thinEvent, event)) {
    const { id: related, type } = event.related_object;
    if (isStripePayment(related)) return { ids: [related], related: null };
    const list = Object.hasOwn(relatedLists, type) ? relatedLists[type] : undefined;
    return { ids: [], related: list !== undefined && /^\w+$/.test(related) ? `${list}/${related}` : null };
  }
  if (!Check(stripeEvent, event)) return nothing;
  const { id: object, payment_intent: intent } = event.data.object;
  if (isStripePayment(object)) return { ids: [object], related: null };
  return typeof intent === 'string' && /^pi_\w+$/.test(intent) ? { ids: [intent], related: null } : nothing;
}

const nothing = { ids: [], related: null } as const;

/** Whether an event says that it is one of the test mode. It is read without parsing, because strangers can send one. */
export function isOfStripeTestMode(body: Uint8Array): boolean {
  const [, mode] = /"livemode"\s{0,9}:\s{0,9}(true|false)/.exec(Buffer.from(body).toString('latin1')) ?? [];
  return mode === 'false';
}

/** The payment of a webhook of Mollie: a form with its id. */
export function mollieIdsOf(body: Uint8Array): readonly string[] {
  const id = new URLSearchParams(Buffer.from(body).toString()).get('id') ?? '';
  return isMolliePayment(id) ? [id] : [];
}

export function isMolliePayment(id: string): boolean {
  return /^tr_\w{1,100}$/.test(id);
}

function parsedJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}
