/**
 * Stripe Checkout, through Stripe's HTTP interface (https://docs.stripe.com/api/checkout/sessions). The official library
 * has 23 MB. The tests use it to check the server that they use in the place of Stripe.
 */

import Type, { type Static } from 'typebox';
import { Check } from 'typebox/schema';
import type {
  HintReading,
  Payment,
  PaymentProvider,
  PaymentSession,
  ProviderAccount,
  ProviderCredential,
  ProviderHint,
  ProviderOutcome,
  ProviderRefund,
  SessionRequest,
} from '../domain/payment.ts';
import { isTestKey } from '../domain/provider-keys.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { PublicNetwork } from '../../../delivery/public-socket.ts';
import { openPublicHttp, type PublicHttp } from '../../../delivery/public-http.ts';
import {
  callProvider,
  mapOutcome,
  providerLimits,
  notUnderstood,
  type CallOutcome,
  type ProviderCall,
  type ProviderEndpoint,
} from './provider-call.ts';
import { isOfStripeTestMode, isSignedByStripe, stripeSubjectOf } from './hints.ts';
import { toStripeAmount } from './stripe-amounts.ts';
import { readStripeMovements } from './stripe-movements.ts';
import {
  balancePage,
  createdSession,
  disputeList,
  stripePaymentOf,
  readSession,
  refundList,
  relatedObject,
  stripeRefundOf,
  stripeAccount,
  stripeRefund,
  warningList,
  withMoneyBack,
} from './stripe-objects.ts';

const host = 'api.stripe.com';

/** The version of the interface, with which Stripe responds whatever the account's default is. */
const version = '2026-10-28.endive';

/** Stripe's names of the languages of the service. Stripe detects the language of the others. */
const locales: Readonly<Record<string, string>> = {
  de: 'de',
  en: 'en',
  es: 'es',
  fr: 'fr',
  it: 'it',
  ja: 'ja',
  ko: 'ko',
  nl: 'nl',
  pl: 'pl',
  pt: 'pt',
  sv: 'sv',
  tr: 'tr',
  'zh-Hans': 'zh',
};

/** The path of a request, with its parameters. */
function pathOf(path: string, parameters: Readonly<Record<string, string>>): string {
  return `/v1${path}?${new URLSearchParams(parameters).toString()}`;
}

const secondMs = 1_000;

/** Requests to Stripe, with the key of each. */
class StripeCalls implements Disposable {
  readonly #http: PublicHttp<typeof host>;
  readonly #endpoint: ProviderEndpoint<typeof host>;

  constructor(network: PublicNetwork, now: () => number) {
    this.#http = openPublicHttp<typeof host>(network, providerLimits);
    this.#endpoint = { http: this.#http, host, now, wordsOf };
  }

  async #call<Schema extends Type.TSchema>(
    key: Secret,
    { headers, ...sent }: ProviderCall<Schema>,
  ): Promise<CallOutcome<Static<Schema>>> {
    const versioned = { ...headers, 'stripe-version': version };
    return await callProvider(this.#endpoint, key, { ...sent, headers: versioned });
  }

  async get<Schema extends Type.TSchema>(
    key: Secret,
    path: string,
    schema: Schema,
  ): Promise<CallOutcome<Static<Schema>>> {
    return await this.#call(key, { method: 'GET', path, schema });
  }

  /** A form with a key, for which Stripe repeats its response for at least a day, even one of an error. */
  async post<Schema extends Type.TSchema>(
    key: Secret,
    {
      path,
      form,
      idempotencyKey,
      ...sent
    }: Pick<ProviderCall<Schema>, 'path' | 'schema' | 'hidden'> & {
      readonly form: Readonly<Record<string, string>>;
      readonly idempotencyKey: string;
    },
  ): Promise<CallOutcome<Static<Schema>>> {
    return await this.#call(key, {
      ...sent,
      method: 'POST',
      path: `/v1${path}`,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'idempotency-key': idempotencyKey,
      },
      body: new URLSearchParams(form).toString(),
    });
  }

  [Symbol.dispose](): void {
    this.#http[Symbol.dispose]();
  }
}

/** @param now the time of the machine in ms. */
export function openStripe(network: PublicNetwork, now: () => number): PaymentProvider & Disposable {
  const calls = new StripeCalls(network, now);
  return {
    kind: 'stripe',
    createSession: ({ key }, request) => createSession(calls, key, request),
    readPayment: ({ key }, sessionId) => readPayment(calls, key, sessionId),
    refund: ({ key }, request) => refundPayment(calls, key, request),
    listMovements: ({ key }, page) =>
      readStripeMovements(
        (parameters) => calls.get(key, pathOf('/balance_transactions', parameters), balancePage),
        page,
      ),
    examine: ({ key }) => examine(calls, key),
    readHint,
    findPaymentOf: ({ key }, related) => findPaymentOf(calls, key, related),
    [Symbol.dispose]: () => calls[Symbol.dispose](),
  };
}

/** Events of both modes come to one address. Those of the other mode say nothing about this secret. */
function readHint({ key, hintSecret }: ProviderCredential, hint: ProviderHint): HintReading {
  const isUnsigned = hint.headers['stripe-signature'] === undefined;
  if (isUnsigned || hintSecret === null) return { signature: 'none', ids: [], related: null };
  const isOfMode = isOfStripeTestMode(hint.body) === isTestKey('stripe', key.reveal());
  if (!isSignedByStripe(hint, hintSecret))
    return { signature: isOfMode ? 'wrong' : 'none', ids: [], related: null };
  return { signature: isOfMode ? 'right' : 'none', ...stripeSubjectOf(hint.body) };
}

async function findPaymentOf(
  calls: StripeCalls,
  key: Secret,
  related: string,
): Promise<ProviderOutcome<string | null>> {
  const found = await calls.get(key, `/v1/${related}`, relatedObject);
  return mapOutcome(found, ({ payment_intent: intent }) => intent ?? null);
}

async function createSession(
  calls: StripeCalls,
  key: Secret,
  request: SessionRequest,
): Promise<ProviderOutcome<PaymentSession>> {
  const form = sessionForm(request);
  if (!form) return { kind: 'rejected', detail: 'Stripe cannot charge this amount' };
  const created = await calls.post(key, {
    path: '/checkout/sessions',
    form,
    idempotencyKey: `session-${request.saleKey}`,
    schema: createdSession,
    hidden: [request.buyerAddress],
  });
  return mapOutcome(created, ({ id, url, expires_at: end }) => ({ id, url, expiresAt: end * secondMs }));
}

/** A payment with its refunds, disputes and warnings. */
async function readPayment(
  calls: StripeCalls,
  key: Secret,
  sessionId: string,
): Promise<CallOutcome<Payment>> {
  const path = `/checkout/sessions/${encodeURIComponent(sessionId)}`;
  const expanded = { 'expand[]': 'payment_intent.latest_charge' };
  const found = await calls.get(key, pathOf(path, expanded), readSession);
  if (found.kind !== 'done') return found;
  const payment = stripePaymentOf(found.value);
  if (!payment) return notUnderstood;
  const charge = found.value.payment_intent?.latest_charge;
  if (payment.state !== 'paid' || !charge) return { kind: 'done', value: payment };
  const ofCharge = { charge: charge.id, limit: '100' };
  const [refunds, disputes, warnings] = await Promise.all([
    calls.get(key, pathOf('/refunds', ofCharge), refundList),
    calls.get(key, pathOf('/disputes', ofCharge), disputeList),
    // No field of the charge says that it has a warning.
    calls.get(key, pathOf('/radar/early_fraud_warnings', ofCharge), warningList),
  ]);
  if (refunds.kind !== 'done') return refunds;
  if (disputes.kind !== 'done') return disputes;
  if (warnings.kind !== 'done') return warnings;
  const lists = { refunds: refunds.value, disputes: disputes.value, warnings: warnings.value };
  return understood(withMoneyBack(payment, lists));
}

async function refundPayment(
  calls: StripeCalls,
  key: Secret,
  { refundKey, paymentId, amount }: Parameters<PaymentProvider['refund']>[1],
): Promise<ProviderOutcome<ProviderRefund>> {
  const text = toStripeAmount(amount);
  if (text === undefined) return { kind: 'rejected', detail: 'Stripe cannot refund this amount' };
  // Stripe can forget an idempotency key after a day, so an earlier attempt is searched by its metadata.
  const ofPayment = { payment_intent: paymentId, limit: '100' };
  const earlier = await calls.get(key, pathOf('/refunds', ofPayment), refundList);
  if (earlier.kind !== 'done') return earlier;
  const known = earlier.value.data.find(({ metadata }) => metadata?.['refund'] === refundKey);
  if (!known && earlier.value.has_more) return notUnderstood;
  const made: CallOutcome<Static<typeof stripeRefund>> = known
    ? { kind: 'done', value: known }
    : await calls.post(key, {
        path: '/refunds',
        form: { payment_intent: paymentId, amount: text, 'metadata[refund]': refundKey },
        idempotencyKey: `refund-${refundKey}`,
        schema: stripeRefund,
      });
  return made.kind === 'done' ? understood(stripeRefundOf(made.value)) : made;
}

async function examine(calls: StripeCalls, key: Secret): Promise<CallOutcome<ProviderAccount>> {
  const [account, ...lists] = await Promise.all([
    calls.get(key, '/v1/account', stripeAccount),
    ...readLists.map((path) => calls.get(key, pathOf(path, { limit: '1' }), Type.Object({}))),
  ]);
  const failed = lists.find((list) => list.kind !== 'done');
  return failed ?? examined(key, account);
}

/** @param value undefined: the content makes no sense. */
function understood<T>(value: T | undefined): CallOutcome<T> {
  return value === undefined ? notUnderstood : { kind: 'done', value };
}

/** The lists that the service reads. */
const readLists = [
  '/checkout/sessions',
  '/payment_intents',
  '/charges',
  '/refunds',
  '/disputes',
  '/radar/early_fraud_warnings',
  '/balance_transactions',
] as const;

const descriptionLengthMax = 200;

/** The form that creates a session; undefined: Stripe cannot represent the amount. */
function sessionForm(request: SessionRequest): Readonly<Record<string, string>> | undefined {
  const { saleKey, amount, description, locale } = request;
  const text = toStripeAmount(amount);
  const shown = Array.from(description).slice(0, descriptionLengthMax).join('');
  return text === undefined
    ? undefined
    : {
        mode: 'payment',
        'line_items[0][quantity]': '1',
        'line_items[0][price_data][currency]': amount.currency.code.toLowerCase(),
        'line_items[0][price_data][unit_amount]': text,
        'line_items[0][price_data][product_data][name]': shown,
        client_reference_id: saleKey,
        'metadata[sale]': saleKey,
        'payment_intent_data[metadata][sale]': saleKey,
        'payment_intent_data[description]': shown,
        // A buyer pays in the currency of the card, so that the amounts are comparable.
        'adaptive_pricing[enabled]': 'false',
        // Gift cards attract stolen payment cards. A bank that has checked the buyer bears the loss.
        'payment_method_options[card][request_three_d_secure]': 'any',
        customer_email: request.buyerAddress,
        locale: locales[locale] ?? 'auto',
        success_url: request.returnUrl,
        cancel_url: request.cancelUrl,
        expires_at: String(Math.floor(request.expiresAt / secondMs)),
      };
}

/** A restricted key can lack the right to read the account, which the service does not need. */
function examined(
  key: Secret,
  account: CallOutcome<Static<typeof stripeAccount>>,
): CallOutcome<ProviderAccount> {
  const text = key.reveal();
  const isTest = isTestKey('stripe', text) === true;
  const isHidden = account.kind === 'rejected' && account.status === 403;
  if (isHidden)
    return { kind: 'done', value: { account: `•••• ${text.slice(-4)}`, isTest, currencies: null } };
  return account.kind === 'done' && account.value.charges_enabled === false && !isTest
    ? { kind: 'rejected', detail: 'the account cannot accept payments yet', status: 200 }
    : mapOutcome(account, ({ id, settings }) => {
        const name = settings?.dashboard?.display_name;
        return { account: name ? `${name} (${id})` : id, isTest, currencies: null };
      });
}

function wordsOf(content: unknown): string {
  return Check(stripeError, content) ? content.error.message : '';
}

const stripeError = Type.Object({ error: Type.Object({ message: Type.String() }) });
