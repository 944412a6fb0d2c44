/** The notifications of providers. A hint names what is read again at the provider, and nothing else. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import Type from 'typebox';
import { Check } from 'typebox/schema';
import type { ProviderHint } from '../../domain/online-sales/payment.ts';
import type { Secret } from '../../platform/secret.ts';

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

const stripeEvent = Type.Object({
  data: Type.Object({
    object: Type.Object({
      id: Type.String({ maxLength: 255 }),
      payment_intent: Type.Optional(Type.Union([Type.String({ maxLength: 255 }), Type.Null()])),
    }),
  }),
});

/** The Checkout Session or the payment intent of an event. */
export function stripeIdsOf(body: Uint8Array): readonly string[] {
  const event = parsedJson(body);
  if (!Check(stripeEvent, event)) return [];
  const { id, payment_intent: intent } = event.data.object;
  if (/^(?:cs|pi)_\w+$/.test(id)) return [id];
  return typeof intent === 'string' && /^pi_\w+$/.test(intent) ? [intent] : [];
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
