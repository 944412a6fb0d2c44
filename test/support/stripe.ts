/**
 * Stripe's API with the state of an account: Checkout Sessions, their payments, refunds, disputes, warnings and balance.
 * It is built from the published schema (version 2026-10-28.endive), whose types the official library has, and rejects
 * parameters that it does not have.
 */

import { createHmac, randomBytes } from 'node:crypto';
import type Stripe from 'stripe';
import {
  idempotentResponses,
  startProviderServer,
  type ProviderRequest,
  type ProviderResponse,
  type ProviderServer,
} from './provider-server.ts';
import {
  idIn,
  newCharge,
  newDispute,
  newIntent,
  newRefund,
  newSession,
  newTransaction,
  newWarning,
} from './stripe-objects.ts';

export const stripeVersion = '2026-10-28.endive';
const dayMs = 86_400_000;

class StripeRejection extends Error {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;

  constructor(status: number, message: string, fields: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

function invalid(message: string, param?: string, code?: string): StripeRejection {
  return new StripeRejection(400, message, {
    type: 'invalid_request_error',
    ...(param !== undefined && { param }),
    ...(code !== undefined && { code }),
  });
}

type Parameters = Readonly<Record<string, string>>;

/** The parameters that each request can have; `*` in the place of a name. */
const known: Readonly<Record<string, readonly RegExp[]>> = {
  'POST /v1/checkout/sessions': [
    /^(?:mode|success_url|cancel_url|customer_email|client_reference_id|locale|expires_at)$/,
    /^line_items\[\d\]\[quantity\]$/,
    /^line_items\[\d\]\[price_data\]\[(?:currency|unit_amount)\]$/,
    /^line_items\[\d\]\[price_data\]\[product_data\]\[(?:name|description)\]$/,
    /^(?:payment_intent_data\[)?metadata\]?\[\w{1,40}\]$/,
    /^payment_intent_data\[description\]$/,
    /^adaptive_pricing\[enabled\]$/,
    /^payment_method_options\[card\]\[request_three_d_secure\]$/,
    /^expand\[\d*\]$/,
  ],
  'POST /v1/refunds': [
    /^(?:payment_intent|charge|amount|reason)$/,
    /^metadata\[\w{1,40}\]$/,
    /^expand\[\d*\]$/,
  ],
  'GET /v1/refunds': [
    /^(?:payment_intent|charge|limit|starting_after|ending_before)$/,
    /^created/,
    /^expand/,
  ],
  'GET /v1/disputes': [
    /^(?:payment_intent|charge|limit|starting_after|ending_before)$/,
    /^created/,
    /^expand/,
  ],
  'GET /v1/radar/early_fraud_warnings': [
    /^(?:payment_intent|charge|limit|starting_after|ending_before)$/,
    /^created/,
    /^expand/,
  ],
  'GET /v1/balance_transactions': [
    /^(?:payout|type|currency|source|limit|starting_after|ending_before)$/,
    /^created/,
    /^expand/,
  ],
};

const locales = new Set(
  'auto bg cs da de el en en-GB es es-419 et fi fil fr fr-CA hr hu id it ja ko lt lv ms mt nb nl pl pt pt-BR ro ru sk sl sv th tr vi zh zh-HK zh-TW'.split(
    ' ',
  ),
);

/** The smallest amounts, in the smallest unit; 50 for other currencies. */
const minimums: Readonly<Record<string, number>> = {
  eur: 50,
  usd: 50,
  gbp: 30,
  jpy: 50,
  huf: 17_500,
  kwd: 150,
};

export type StripeCard = {
  readonly brand?: string;
  readonly last4?: string;
  readonly country?: string;
  readonly fingerprint?: string;
  readonly threeDSecure?: Stripe.Charge.PaymentMethodDetails.Card.ThreeDSecure.Result | null;
  readonly risk?: string;
};

export type StripeService = ProviderServer & {
  readonly sessions: Map<string, Stripe.Checkout.Session>;
  readonly charges: Map<string, Stripe.Charge>;
  readonly refunds: Map<string, Stripe.Refund>;
  readonly disputes: Map<string, Stripe.Dispute>;
  readonly warnings: Map<string, Stripe.Radar.EarlyFraudWarning>;
  readonly transactions: Map<string, Stripe.BalanceTransaction>;
  /** The keys of the account, with the paths that each may not use. */
  readonly keys: Map<string, readonly string[]>;
  account: Record<string, unknown>;
  /** The events that were not taken yet, oldest first. */
  readonly events: { readonly type: string; readonly object: object }[];
  /** Pays on the hosted page. `sepa_debit` is a delayed method. */
  pay: (sessionId: string, method?: StripeCard | 'sepa_debit' | 'ideal') => void;
  /** Ends the wait of a delayed method. */
  settle: (sessionId: string, succeeds: boolean) => void;
  expire: (sessionId: string) => void;
  dispute: (sessionId: string, status?: Stripe.Dispute.Status) => string;
  changeDispute: (id: string, status: Stripe.Dispute.Status) => void;
  warn: (sessionId: string) => string;
  /** Refunds as a person does in the dashboard. */
  refund: (sessionId: string, amount: number, status?: string) => string;
  changeRefund: (id: string, status: string) => void;
  /** Pays the balance out. */
  payOut: () => string;
};

/** The body and headers of a webhook. @param secrets sign it: two while one replaces the other. */
export function stripeHint(
  { type, object }: { readonly type: string; readonly object: object },
  { secrets, at, isLive = false }: SignedBy,
) {
  const body = JSON.stringify({
    id: `evt_${randomBytes(12).toString('hex')}`,
    object: 'event',
    api_version: stripeVersion,
    created: Math.floor(at / 1_000),
    data: { object },
    livemode: isLive,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  });
  return signed(body, { secrets, at });
}

/** The same of a thin event, which has no copy of its object. */
export function stripeThinHint(
  {
    type,
    related,
  }: { readonly type: string; readonly related: { readonly id: string; readonly type: string } },
  { secrets, at, isLive = false }: SignedBy,
) {
  const body = JSON.stringify({
    id: `evt_test_${randomBytes(12).toString('hex')}`,
    object: 'v2.core.event',
    type,
    livemode: isLive,
    created: new Date(at).toISOString(),
    context: null,
    related_object: { ...related, url: `/v1/${related.type}s/${related.id}` },
  });
  return signed(body, { secrets, at });
}

type SignedBy = { readonly secrets: readonly string[]; readonly at: number; readonly isLive?: boolean };

function signed(body: string, { secrets, at }: Pick<SignedBy, 'secrets' | 'at'>) {
  const t = String(Math.floor(at / 1_000));
  const signatures = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${t}.${body}`).digest('hex'),
  );
  const header = [`t=${t}`, ...signatures.map((each) => `v1=${each}`), `v0=${'0'.repeat(64)}`].join(',');
  return { body: Buffer.from(body), headers: { 'stripe-signature': header } };
}

/** @param now the time of the service in ms. */
export async function stripeService(now: () => number): Promise<StripeService> {
  const seconds = (): number => Math.floor(now() / 1_000);
  const id = (prefix: string): string => `${prefix}_${randomBytes(12).toString('hex')}`;
  const sessions = new Map<string, Stripe.Checkout.Session>();
  const intents = new Map<string, Stripe.PaymentIntent>();
  const charges = new Map<string, Stripe.Charge>();
  const refunds = new Map<string, Stripe.Refund>();
  const disputes = new Map<string, Stripe.Dispute>();
  const warnings = new Map<string, Stripe.Radar.EarlyFraudWarning>();
  const transactions = new Map<string, Stripe.BalanceTransaction>();
  const keys = new Map<string, readonly string[]>();
  const events: StripeService['events'] = [];
  const repeats = idempotentResponses(dayMs, now);

  function sessionOf(sessionId: string): Stripe.Checkout.Session {
    const found = sessions.get(sessionId);
    if (!found)
      throw new StripeRejection(404, `No such checkout.session: ${sessionId}`, {
        type: 'invalid_request_error',
        code: 'resource_missing',
        param: 'session',
      });
    // A session ends by itself.
    if (found.status === 'open' && found.expires_at <= seconds()) expire(sessionId);
    return found;
  }

  function chargeOf(sessionId: string): Stripe.Charge {
    const intent = intents.get(idIn(sessionOf(sessionId).payment_intent));
    const charge = charges.get(idIn(intent?.latest_charge));
    if (!charge) throw new Error(`${sessionId} has no charge`);
    return charge;
  }

  function book(
    category: string,
    {
      amount,
      currency,
      fee = 0,
      source,
    }: { readonly amount: number; readonly currency: string; readonly fee?: number; readonly source: string },
  ): void {
    const txn = newTransaction(id('txn'), { amount, currency, fee, source, category, created: seconds() });
    transactions.set(txn.id, txn);
  }

  function expire(sessionId: string): void {
    const session = sessions.get(sessionId);
    if (session?.status !== 'open') return;
    session.status = 'expired';
    session.url = null;
    events.push({ type: 'checkout.session.expired', object: { ...session } });
  }

  function pay(sessionId: string, method: StripeCard | 'sepa_debit' | 'ideal' = {}): void {
    const session = sessionOf(sessionId);
    if (session.status !== 'open') throw new Error('the session is not open');
    const isDelayed = method === 'sepa_debit';
    const { amount_total: amount, currency } = session;
    const charge = newCharge(id('ch'), { session, method, created: seconds(), isPaid: !isDelayed });
    const intent = newIntent(id('pi'), { session, charge, created: seconds(), isPaid: !isDelayed });
    charge.payment_intent = intent.id;
    intents.set(intent.id, intent);
    charges.set(charge.id, charge);
    Object.assign(session, {
      status: 'complete',
      payment_status: isDelayed ? 'unpaid' : 'paid',
      payment_intent: intent.id,
      url: null,
    });
    if (!isDelayed) book('charge', feeOf(amount ?? 0, currency ?? '', charge.id));
    events.push({ type: 'checkout.session.completed', object: { ...session } });
  }

  function feeOf(amount: number, currency: string, source: string) {
    return { amount, currency, fee: Math.floor(amount * 0.015) + 25, source };
  }

  function settle(sessionId: string, succeeds: boolean): void {
    const session = sessionOf(sessionId);
    const charge = chargeOf(sessionId);
    const intent = intents.get(idIn(session.payment_intent));
    if (!intent) throw new Error('there is no payment');
    if (succeeds) {
      Object.assign(charge, {
        status: 'succeeded',
        paid: true,
        captured: true,
        amount_captured: charge.amount,
      });
      intent.status = 'succeeded';
      session.payment_status = 'paid';
      book('charge', feeOf(charge.amount, charge.currency, charge.id));
    } else {
      charge.status = 'failed';
      intent.status = 'requires_payment_method';
    }
    const type = succeeds ? 'async_payment_succeeded' : 'async_payment_failed';
    events.push({ type: `checkout.session.${type}`, object: { ...session } });
  }

  function makeRefund(
    charge: Stripe.Charge,
    {
      amount,
      metadata = {},
      status = 'succeeded',
    }: { readonly amount: number; readonly metadata?: Parameters; readonly status?: string },
  ): Stripe.Refund {
    const left = charge.amount - charge.amount_refunded;
    if (left === 0)
      throw invalid(`Charge ${charge.id} has already been refunded.`, undefined, 'charge_already_refunded');
    if (amount > left)
      throw invalid(
        `Refund amount (${amount}) is greater than unrefunded amount on charge (${left})`,
        'amount',
      );
    if (charge.status !== 'succeeded')
      throw invalid('This PaymentIntent does not have a successful charge to refund.');
    const refund = newRefund(id('re'), { charge, amount, metadata, status, created: seconds() });
    refunds.set(refund.id, refund);
    charge.amount_refunded += amount;
    charge.refunded = charge.amount_refunded === charge.amount;
    book('refund', { amount: -amount, currency: charge.currency, source: refund.id });
    events.push(
      { type: 'charge.refunded', object: { ...charge } },
      { type: 'refund.created', object: { ...refund } },
    );
    return refund;
  }

  function changeRefund(refundId: string, status: string): void {
    const refund = refunds.get(refundId);
    if (!refund) throw new Error('there is no refund');
    refund.status = status;
    const charge = charges.get(idIn(refund.charge));
    if ((status === 'failed' || status === 'canceled') && charge) {
      charge.amount_refunded -= refund.amount;
      charge.refunded = false;
      book('refund_failure', { amount: refund.amount, currency: refund.currency, source: refund.id });
    }
    events.push({ type: status === 'failed' ? 'refund.failed' : 'refund.updated', object: { ...refund } });
  }

  function changeDispute(disputeId: string, status: Stripe.Dispute.Status): void {
    const dispute = disputes.get(disputeId);
    if (!dispute) throw new Error('there is no dispute');
    const wasWithdrawn = !dispute.status.startsWith('warning');
    dispute.status = status;
    if (!wasWithdrawn && !status.startsWith('warning'))
      book('dispute', {
        amount: -dispute.amount,
        currency: dispute.currency,
        fee: 2_000,
        source: dispute.id,
      });
    if (status === 'won')
      book('dispute_reversal', { amount: dispute.amount, currency: dispute.currency, source: dispute.id });
    const isClosed = ['won', 'lost', 'warning_closed'].includes(status);
    events.push({ type: `charge.dispute.${isClosed ? 'closed' : 'updated'}`, object: { ...dispute } });
  }

  function createSession(form: Parameters): Stripe.Checkout.Session {
    const given = (name: string): string => {
      const value = form[name];
      if (value === undefined || value === '')
        throw invalid(`Missing required param: ${name}.`, name, 'parameter_missing');
      return value;
    };
    if (given('mode') !== 'payment') throw invalid('Only payments are supported.', 'mode');
    const currency = given('line_items[0][price_data][currency]');
    if (!/^[a-z]{3}$/.test(currency)) throw invalid(`Invalid currency: ${currency}`, 'currency');
    const amount = Number(given('line_items[0][price_data][unit_amount]'));
    if (!Number.isInteger(amount))
      throw invalid(`Invalid integer: ${amount}`, 'unit_amount', 'parameter_invalid_integer');
    if (amount < (minimums[currency] ?? 50))
      throw invalid(
        'The Checkout Session’s total amount due must add up to at least the minimum charge amount.',
        undefined,
        'amount_too_small',
      );
    if (amount > 99_999_999)
      throw invalid('Amount must be no more than 999,999.99', undefined, 'amount_too_large');
    given('line_items[0][price_data][product_data][name]');
    if (form['line_items[0][quantity]'] !== '1') throw invalid('Invalid quantity');
    for (const name of ['success_url', 'cancel_url'])
      if (!URL.canParse(given(name))) throw invalid('Not a valid URL', name, 'url_invalid');
    const email = form['customer_email'];
    if (email !== undefined && !/^\S+@\S+\.\S+$/.test(email))
      throw invalid(`Invalid email address: ${email}`, 'customer_email', 'email_invalid');
    const locale = form['locale'] ?? 'auto';
    if (!locales.has(locale)) throw invalid(`Invalid locale: ${locale}`, 'locale');
    const expiresAt = Number(form['expires_at'] ?? seconds() + 86_400);
    if (expiresAt < seconds() + 1_800 || expiresAt > seconds() + 86_400)
      throw invalid(
        'The `expires_at` timestamp must be at least 30 minutes and at most 24 hours from Checkout Session creation.',
        'expires_at',
      );
    const session = newSession(id('cs_test'), {
      form,
      amount,
      currency,
      expiresAt,
      created: seconds(),
      locale,
    });
    sessions.set(session.id, session);
    return session;
  }

  /** A page of the newest objects first. */
  /** The payouts of balance transactions, which no object names. */
  const paidOutWith = new Map<string, string>();

  function listed(
    all: Iterable<{ readonly id: string; readonly created: number }>,
    path: string,
    query: Parameters,
  ) {
    const limit = Number(query['limit'] ?? 10);
    if (!(limit >= 1 && limit <= 100)) throw invalid('This value must be between 1 and 100', 'limit');
    const since = Number(query['created[gte]'] ?? 0);
    const matching = [...all]
      .filter((each) => each.created >= since)
      .filter((each) =>
        ['charge', 'payment_intent'].every(
          (name) => query[name] === undefined || (each as unknown as Parameters)[name] === query[name],
        ),
      )
      .filter((each) => query['payout'] === undefined || paidOutWith.get(each.id) === query['payout'])
      .toReversed();
    const after = query['starting_after'];
    const start = after === undefined ? 0 : matching.findIndex((each) => each.id === after) + 1;
    const data = matching.slice(start, start + limit);
    return { object: 'list', url: path, has_more: start + limit < matching.length, data };
  }

  function expandedSession(session: Stripe.Checkout.Session, expand: readonly string[]): object {
    if (!expand.includes('payment_intent.latest_charge')) return session;
    const intent = intents.get(idIn(session.payment_intent));
    if (!intent) return session;
    const charge = charges.get(idIn(intent.latest_charge));
    return { ...session, payment_intent: { ...intent, latest_charge: charge ?? null } };
  }

  const lists: Readonly<Record<string, () => Iterable<{ readonly id: string; readonly created: number }>>> = {
    '/v1/checkout/sessions': () => sessions.values(),
    '/v1/payment_intents': () => intents.values(),
    '/v1/charges': () => charges.values(),
    '/v1/refunds': () => refunds.values(),
    '/v1/disputes': () => disputes.values(),
    '/v1/radar/early_fraud_warnings': () => warnings.values(),
    '/v1/balance_transactions': () => transactions.values(),
  };

  function call(
    { method, path }: ProviderRequest,
    parameters: Parameters,
    expand: readonly string[],
  ): object {
    const allowed = known[`${method} ${path}`];
    const unknown =
      allowed && Object.keys(parameters).find((name) => !allowed.some((each) => each.test(name)));
    if (unknown !== undefined)
      throw invalid(`Received unknown parameter: ${unknown}`, unknown, 'parameter_unknown');
    if (method === 'POST' && path === '/v1/checkout/sessions') return createSession(parameters);
    if (method === 'GET' && path === '/v1/account') return service.account;
    const [, sessionId, action] = /^\/v1\/checkout\/sessions\/([^/]+)(\/expire)?$/.exec(path) ?? [];
    if (sessionId !== undefined && method === 'GET' && action === undefined)
      return expandedSession(sessionOf(decodeURIComponent(sessionId)), expand);
    if (sessionId !== undefined && method === 'POST' && action !== undefined) {
      const session = sessionOf(decodeURIComponent(sessionId));
      if (session.status !== 'open')
        throw invalid('Only Checkout Sessions with a status in ["open"] can be expired.');
      expire(session.id);
      return session;
    }
    if (method === 'POST' && path === '/v1/refunds') {
      const intent = intents.get(parameters['payment_intent'] ?? '');
      const charge = charges.get(idIn(intent?.latest_charge));
      if (!charge)
        throw invalid(
          `No such payment_intent: '${parameters['payment_intent']}'`,
          'payment_intent',
          'resource_missing',
        );
      const metadata = Object.fromEntries(
        Object.entries(parameters).flatMap(([name, value]) => {
          const [, key] = /^metadata\[(\w+)\]$/.exec(name) ?? [];
          return key === undefined ? [] : [[key, value]];
        }),
      );
      return makeRefund(charge, {
        amount: Number(parameters['amount'] ?? charge.amount - charge.amount_refunded),
        metadata,
      });
    }
    const [, parent = '', objectId] =
      /^(\/v1\/(?:charges|refunds|disputes|radar\/early_fraud_warnings))\/(\w+)$/.exec(path) ?? [];
    if (method === 'GET' && objectId !== undefined) {
      const object = [...(lists[parent]?.() ?? [])].find((each) => each.id === objectId);
      if (!object)
        throw new StripeRejection(404, `No such object: '${objectId}'`, {
          type: 'invalid_request_error',
          code: 'resource_missing',
        });
      return object;
    }
    const list = method === 'GET' ? lists[path] : undefined;
    if (!list)
      throw new StripeRejection(404, `Unrecognized request URL (${method}: ${path}).`, {
        type: 'invalid_request_error',
      });
    const page = listed(list(), path, parameters);
    if (!expand.includes('data.source')) return page;
    const sources = new Map<string, object>([...charges, ...refunds, ...disputes]);
    return {
      ...page,
      data: page.data.map((each) => {
        const { source } = each as unknown as Stripe.BalanceTransaction;
        return {
          ...each,
          source: sources.get(idIn(source)) ?? (source === null ? null : { id: source, object: 'payout' }),
        };
      }),
    };
  }

  function rejection(error: unknown): ProviderResponse {
    if (!(error instanceof StripeRejection)) throw error;
    return { status: error.status, body: { error: { ...error.fields, message: error.message } } };
  }

  const server = await startProviderServer('api.stripe.com', async (request) => {
    const { method, path, headers, query, body } = request;
    const [, key = ''] = /^Bearer (\S+)$/.exec(headers.authorization ?? '') ?? [];
    const forbidden = keys.get(key);
    const parameters = method === 'GET' ? query : new URLSearchParams(body);
    const expand = [...parameters].flatMap(([name, value]) => (/^expand\[\d*\]$/.test(name) ? [value] : []));
    const carryOut = (): ProviderResponse => {
      try {
        return { status: 200, body: structuredClone(call(request, Object.fromEntries(parameters), expand)) };
      } catch (error) {
        return rejection(error);
      }
    };
    if (!forbidden)
      return rejection(
        new StripeRejection(401, `Invalid API Key provided: ${key.slice(0, 8)}****`, {
          type: 'invalid_request_error',
        }),
      );
    if (forbidden.includes(path))
      return rejection(
        new StripeRejection(
          403,
          `The provided key '${key.slice(0, 8)}****' does not have the required permissions for this endpoint.`,
          { type: 'invalid_request_error' },
        ),
      );
    if (headers['stripe-version'] !== stripeVersion) return rejection(invalid('Invalid Stripe API version'));
    const idempotencyKey = method === 'POST' ? headers['idempotency-key'] : undefined;
    const response = await repeats.respond(idempotencyKey as string | undefined, `${path} ${body}`, {
      carryOut,
      reused: () =>
        rejection(
          new StripeRejection(
            400,
            'Keys for idempotent requests can only be used with the same parameters they were first used with.',
            { type: 'idempotency_error' },
          ),
        ),
      busy: () =>
        rejection(
          new StripeRejection(409, 'There is currently another in-progress request using this key.', {
            type: 'idempotency_error',
            code: 'idempotency_key_in_use',
          }),
        ),
    });
    // Stripe stores a response when the request has passed its checks.
    if (response.status === 400 && typeof idempotencyKey === 'string') repeats.forget(idempotencyKey);
    return response;
  });
  const service: StripeService = Object.assign(server, {
    sessions,
    charges,
    refunds,
    disputes,
    warnings,
    transactions,
    keys,
    events,
    account: {
      id: 'acct_1PgafTB7WZ01zgkW',
      object: 'account',
      charges_enabled: true,
      settings: { dashboard: { display_name: 'Flowers', timezone: 'Etc/UTC' } },
    },
    pay,
    settle,
    expire,
    dispute(sessionId: string, status: Stripe.Dispute.Status = 'needs_response') {
      const charge = chargeOf(sessionId);
      const dispute = newDispute(id('du'), { charge, status: 'warning_needs_response', created: seconds() });
      disputes.set(dispute.id, dispute);
      charge.disputed = true;
      if (status === dispute.status) events.push({ type: 'charge.dispute.created', object: { ...dispute } });
      else changeDispute(dispute.id, status);
      return dispute.id;
    },
    changeDispute,
    warn(sessionId: string) {
      const warning = newWarning(id('issfr'), { charge: chargeOf(sessionId), created: seconds() });
      warnings.set(warning.id, warning);
      events.push({ type: 'radar.early_fraud_warning.created', object: { ...warning } });
      return warning.id;
    },
    refund: (sessionId: string, amount: number, status = 'succeeded') =>
      makeRefund(chargeOf(sessionId), { amount, status }).id,
    changeRefund,
    payOut() {
      const payout = id('po');
      const net = [...transactions.values()].reduce((sum, each) => sum + each.net, 0);
      const currency = [...transactions.values()].at(0)?.currency ?? 'eur';
      book('payout', { amount: -net, currency, source: payout });
      for (const each of transactions.keys()) if (!paidOutWith.has(each)) paidOutWith.set(each, payout);
      return payout;
    },
  });
  return service;
}
