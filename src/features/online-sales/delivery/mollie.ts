/** Mollie's payments interface (https://docs.mollie.com/reference/create-payment), version 2. */

import { createHash } from 'node:crypto';
import type Type from 'typebox';
import type { Static } from 'typebox';
import type { PaymentProvider, SessionRequest } from '../domain/payment.ts';
import { isTestKey } from '../domain/provider-keys.ts';
import { formatMoney, type Money } from '../../../core/money/domain/money.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { PublicNetwork } from '../../../delivery/public-socket.ts';
import { openPublicHttp } from '../../../delivery/public-http.ts';
import {
  callProvider,
  mapOutcome,
  providerLimits,
  notUnderstood,
  type CallOutcome,
  type ProviderCall,
} from './provider-call.ts';
import { isMolliePayment, mollieIdsOf } from './hints.ts';
import {
  createdPayment,
  instantIn,
  metadataText,
  mollieMethods,
  mollieProfile,
  mollieRefund,
  mollieRefunds,
  molliePayment,
  mollieWordsOf,
  molliePaymentOf,
  mollieRefundOf,
} from './mollie-objects.ts';
import { readMovements } from './mollie-movements.ts';

const host = 'api.mollie.com';

/** The languages of Mollie's pages. For others, Mollie uses that of the browser. */
const locales: Readonly<Record<string, string>> = {
  de: 'de_DE',
  en: 'en_GB',
  es: 'es_ES',
  fr: 'fr_FR',
  it: 'it_IT',
  nl: 'nl_NL',
  pl: 'pl_PL',
  pt: 'pt_PT',
  sv: 'sv_SE',
};

const descriptionLengthMax = 200;

/** A session whose method decides when it expires, and which has none yet. */
const usualLifeMs = 15 * 60_000;

/** A key as Mollie requests it, a UUID, which is the same for the same text. Mollie keeps it for an hour. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function amountOf(money: Money) {
  return { currency: money.currency.code, value: formatMoney(money) };
}

/** @param now the time of the machine in ms. */
export function openMollie(network: PublicNetwork, now: () => number): PaymentProvider & Disposable {
  const http = openPublicHttp<typeof host>(network, providerLimits);
  const endpoint = { http, host, now, wordsOf: mollieWordsOf } as const;

  async function call<Schema extends Type.TSchema>(
    key: Secret,
    sent: ProviderCall<Schema>,
  ): Promise<CallOutcome<Static<Schema>>> {
    return await callProvider(endpoint, key, sent);
  }

  async function get<Schema extends Type.TSchema>(
    key: Secret,
    path: string,
    schema: Schema,
  ): Promise<CallOutcome<Static<Schema>>> {
    return await call(key, { method: 'GET', path: `/v2${path}`, schema });
  }

  async function post<Schema extends Type.TSchema>(
    key: Secret,
    {
      path,
      content,
      idempotencyKey,
      ...sent
    }: Pick<ProviderCall<Schema>, 'path' | 'schema' | 'hidden'> & {
      readonly content: object;
      readonly idempotencyKey: string;
    },
  ): Promise<CallOutcome<Static<Schema>>> {
    return await call(key, {
      ...sent,
      method: 'POST',
      path: `/v2${path}`,
      headers: { 'content-type': 'application/json', 'idempotency-key': uuidOf(idempotencyKey) },
      body: JSON.stringify(content),
    });
  }

  return {
    kind: 'mollie',
    /**
     * After Mollie has forgotten the key, a repetition makes a second payment. The URL of the first one was never shown, so
     * it can only expire.
     */
    async createSession({ key }, request) {
      const created = await post(key, {
        path: '/payments',
        content: paymentContent(request),
        idempotencyKey: `session ${request.saleKey}`,
        schema: createdPayment,
        hidden: [request.buyerAddress],
      });
      return mapOutcome(created, ({ id, expiresAt, _links: { checkout } }) => ({
        id,
        url: checkout.href,
        expiresAt: instantIn(expiresAt) ?? now() + usualLifeMs,
      }));
    },

    async readPayment({ key }, sessionId) {
      if (!isMolliePayment(sessionId)) return { kind: 'rejected', detail: 'it is not a payment of Mollie' };
      const found = await get(key, `/payments/${sessionId}?embed=refunds,chargebacks`, molliePayment);
      if (found.kind !== 'done') return found;
      const value = molliePaymentOf(found.value, now());
      return value ? { kind: 'done', value } : notUnderstood;
    },

    async refund({ key }, { refundKey, paymentId, amount }) {
      if (!isMolliePayment(paymentId)) return { kind: 'rejected', detail: 'it is not a payment of Mollie' };
      const path = `/payments/${paymentId}/refunds`;
      // Mollie forgets an idempotency key after an hour, so an earlier attempt is searched by its metadata.
      const earlier = await get(key, `${path}?limit=250`, mollieRefunds);
      if (earlier.kind !== 'done') return earlier;
      const refunds = earlier.value._embedded.refunds;
      const known = refunds.find(({ metadata }) => metadataText(metadata, 'refund') === refundKey);
      if (!known && earlier.value._links.next) return notUnderstood;
      const made: CallOutcome<Static<typeof mollieRefund>> = known
        ? { kind: 'done', value: known }
        : await post(key, {
            path,
            content: { amount: amountOf(amount), metadata: { refund: refundKey } },
            idempotencyKey: `refund ${refundKey}`,
            schema: mollieRefund,
          });
      if (made.kind !== 'done') return made;
      const value = mollieRefundOf(made.value);
      return value ? { kind: 'done', value } : notUnderstood;
    },

    listMovements: async ({ key }, page) =>
      await readMovements(async (path, schema) => await get(key, path, schema), page),

    async examine({ key }) {
      const [profile, methods] = await Promise.all([
        get(key, '/profiles/me', mollieProfile),
        get(key, '/methods', mollieMethods),
      ]);
      if (profile.kind !== 'done') return profile;
      if (methods.kind !== 'done') return methods;
      const isTest = isTestKey('mollie', key.reveal()) === true;
      const { id, name, status } = profile.value;
      if (!isTest && status !== 'verified')
        return { kind: 'rejected', detail: 'the website profile is not verified yet' };
      if (methods.value.count === 0)
        return { kind: 'rejected', detail: 'the website profile has no active payment method' };
      return { kind: 'done', value: { account: `${name} (${id})`, isTest, currencies: null } };
    },

    readHint: (_credential, { body }) => ({ signature: 'none', ids: mollieIdsOf(body), related: null }),

    findPaymentOf: () => Promise.resolve({ kind: 'done', value: null }),

    [Symbol.dispose]: () => http[Symbol.dispose](),
  };
}

function paymentContent(request: SessionRequest): object {
  const { saleKey, amount, description, returnUrl, cancelUrl, hintUrl, locale } = request;
  const language = locales[locale];
  return {
    amount: amountOf(amount),
    description: Array.from(description).slice(0, descriptionLengthMax).join(''),
    redirectUrl: returnUrl,
    cancelUrl,
    ...(hintUrl !== null && { webhookUrl: hintUrl }),
    ...(language !== undefined && { locale: language }),
    billingAddress: { email: request.buyerAddress },
    metadata: { sale: saleKey },
  };
}
