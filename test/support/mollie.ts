/**
 * Mollie's API with the state of a website profile: payments, refunds and chargebacks. It is built from the published schema
 * (github.com/mollie/openapi, August 2026), and rejects what it does not have.
 */

import { randomBytes } from 'node:crypto';
import {
  idempotentResponses,
  startProviderServer,
  type ProviderRequest,
  type ProviderResponse,
  type ProviderServer,
} from './provider-server.ts';

type Json = Record<string, unknown>;

type MollieAmount = { readonly currency: string; readonly value: string };

type MolliePayment = Json & {
  readonly id: string;
  readonly amount: MollieAmount;
  readonly createdAt: string;
  status: 'open' | 'pending' | 'authorized' | 'paid' | 'canceled' | 'expired' | 'failed';
  isCancelable?: boolean;
};

type MollieRefund = Json & {
  readonly id: string;
  readonly amount: MollieAmount;
  readonly createdAt: string;
  readonly paymentId: string;
  status: 'queued' | 'pending' | 'processing' | 'refunded' | 'failed' | 'canceled';
};

type MollieChargeback = Json & {
  readonly id: string;
  readonly amount: MollieAmount;
  readonly createdAt: string;
  readonly paymentId: string;
  reversedAt: string | null;
};

class MollieRejection extends Error {
  readonly status: number;
  readonly title: string;
  readonly field: string | undefined;

  constructor(status: number, title: string, detail: string, field?: string) {
    super(detail);
    this.status = status;
    this.title = title;
    this.field = field;
  }
}

function unprocessable(detail: string, field?: string): MollieRejection {
  return new MollieRejection(422, 'Unprocessable Entity', detail, field);
}

function missing(id: string): MollieRejection {
  return new MollieRejection(404, 'Not Found', `No entity exists with token '${id}'`);
}

/** The fields of a request that a one-off payment can have. */
const paymentFields = new Set([
  'amount', 'description', 'redirectUrl', 'cancelUrl', 'webhookUrl', 'locale', 'method', 'metadata', 'billingAddress',
  'shippingAddress', 'lines', 'sequenceType', 'captureMode', 'captureDelay', 'restrictPaymentMethodsToCountry', 'dueDate',
]); // prettier-ignore

const refundFields = new Set(['amount', 'description', 'metadata', 'externalReference']);

const locales = new Set([
  'ca_ES', 'cs_CZ', 'da_DK', 'de_AT', 'de_CH', 'de_DE', 'de_LU', 'en_BE', 'en_GB', 'en_NL', 'en_US', 'es_ES', 'fi_FI',
  'fr_BE', 'fr_FR', 'fr_LU', 'hu_HU', 'is_IS', 'it_IT', 'lt_LT', 'lv_LV', 'nb_NO', 'nl_BE', 'nl_NL', 'pl_PL', 'pt_PT',
  'sk_SK', 'sv_SE',
]); // prettier-ignore

/** The currencies that Mollie accepts, with their decimals. */
const decimals: Readonly<Record<string, number>> = {
  AED: 2, AUD: 2, BRL: 2, CAD: 2, CHF: 2, CZK: 2, DKK: 2, EUR: 2, GBP: 2, HKD: 2, HUF: 2, ILS: 2, ISK: 0, JPY: 0,
  MXN: 2, MYR: 2, NOK: 2, NZD: 2, PHP: 2, PLN: 2, RON: 2, SEK: 2, SGD: 2, THB: 2, TWD: 2, USD: 2, ZAR: 2,
}; // prettier-ignore

function checkAmount(value: unknown): { readonly amount: MollieAmount; readonly minor: number } {
  const { currency, value: text, ...others } = (value ?? {}) as Record<string, unknown>;
  if (typeof currency !== 'string' || typeof text !== 'string' || Object.keys(others).length > 0)
    throw unprocessable('The amount contains invalid data', 'amount');
  const places = decimals[currency];
  if (places === undefined) throw unprocessable('The currency is not supported', 'amount.currency');
  const pattern = places === 0 ? /^\d+$/ : new RegExp(`^\\d+\\.\\d{${places}}$`);
  if (!pattern.test(text))
    throw unprocessable(
      `The amount contains an invalid value; it should have ${places} decimals`,
      'amount.value',
    );
  return { amount: { currency, value: text }, minor: Number(text.replace('.', '')) };
}

function minorOf({ value }: MollieAmount): number {
  return Number(value.replace('.', ''));
}

function withMinor({ currency }: MollieAmount, minor: number): MollieAmount {
  const places = decimals[currency] ?? 2;
  return { currency, value: (minor / 10 ** places).toFixed(places) };
}

export type MollieMethod =
  | { readonly method: 'creditcard'; readonly details?: Json }
  | { readonly method: 'ideal' | 'banktransfer' | 'paypal' };

export type MollieService = ProviderServer & {
  readonly payments: Map<string, MolliePayment>;
  readonly refunds: Map<string, MollieRefund>;
  readonly chargebacks: Map<string, MollieChargeback>;
  readonly keys: Set<string>;
  profile: Json;
  /** The active payment methods. */
  methods: readonly string[];
  /** The webhooks that were not taken yet, oldest first. */
  readonly hints: { readonly url: string; readonly body: string }[];
  /** Pays on the hosted page. */
  pay: (id: string, method?: MollieMethod) => void;
  /** Chooses a bank transfer, which waits. */
  choose: (id: string, method: 'banktransfer') => void;
  end: (id: string, status: 'failed' | 'expired' | 'canceled') => void;
  /** Refunds as a person does in the dashboard. */
  refund: (id: string, value: string, status?: MollieRefund['status']) => string;
  changeRefund: (id: string, status: MollieRefund['status']) => void;
  chargeBack: (id: string) => string;
  reverse: (chargebackId: string) => void;
};

const cardDetails: Json = {
  cardNumber: '4242',
  cardHolder: 'T. TEST',
  cardAudience: 'consumer',
  cardLabel: 'Visa',
  cardCountryCode: 'NL',
  cardSecurity: '3dsecure',
  cardFunding: 'credit',
  cardFingerprint: 'fHB3CCKx9REkz8fPplT8N4nq',
  feeRegion: 'intra-eu',
  failureReason: null,
};

const api = 'https://api.mollie.com/v2';
const hourMs = 3_600_000;

/** @param now the time of the service in ms. */
export async function mollieService(now: () => number): Promise<MollieService> {
  const at = (ms = now()): string => `${new Date(ms).toISOString().slice(0, 19)}+00:00`;
  const id = (prefix: string): string => `${prefix}_${randomBytes(8).toString('hex')}`;
  const payments = new Map<string, MolliePayment>();
  const refunds = new Map<string, MollieRefund>();
  const chargebacks = new Map<string, MollieChargeback>();
  const keys = new Set<string>();
  const hints: MollieService['hints'] = [];
  const repeats = idempotentResponses(hourMs, now);

  function changed(payment: MolliePayment): void {
    const { webhookUrl } = payment;
    if (typeof webhookUrl === 'string') hints.push({ url: webhookUrl, body: `id=${payment.id}` });
  }

  function paymentOf(paymentId: string): MolliePayment {
    const payment = payments.get(paymentId);
    if (!payment) throw missing(paymentId);
    // An open payment ends by itself.
    if (payment.status === 'open' && Date.parse(String(payment['expiresAt'])) <= now())
      end(paymentId, 'expired');
    return payment;
  }

  function end(paymentId: string, status: 'failed' | 'expired' | 'canceled'): void {
    const payment = payments.get(paymentId);
    if (!payment || !['open', 'pending'].includes(payment.status)) throw new Error('the payment has ended');
    payment.status = status;
    payment[`${status}At`] = at();
    delete payment['expiresAt'];
    delete payment.isCancelable;
    delete (payment['_links'] as Json)['checkout'];
    changed(payment);
  }

  function createPayment(content: Json): MolliePayment {
    const unknown = Object.keys(content).find((name) => !paymentFields.has(name));
    if (unknown !== undefined) throw unprocessable(`Non-existent body parameter "${unknown}"`, unknown);
    const { amount, minor } = checkAmount(content['amount']);
    if (minor < 1) throw unprocessable('The amount is lower than the minimum', 'amount');
    if (minor > 5_000_000) throw unprocessable('The amount is higher than the maximum', 'amount');
    const { description, redirectUrl, cancelUrl, webhookUrl, locale, metadata, billingAddress } = content;
    if (typeof description !== 'string' || description === '')
      throw unprocessable('The description is missing', 'description');
    for (const [field, url] of Object.entries({ redirectUrl, cancelUrl, webhookUrl })) {
      if (url === undefined && field !== 'redirectUrl') continue;
      if (typeof url !== 'string' || !URL.canParse(url))
        throw unprocessable(`The ${field} is invalid`, field);
    }
    if (typeof webhookUrl === 'string' && /^https?:\/\/(?:localhost|127\.)/.test(webhookUrl))
      throw unprocessable(
        'The webhook URL is invalid because it is unreachable from Mollie’s point of view',
        'webhookUrl',
      );
    if (locale !== undefined && (typeof locale !== 'string' || !locales.has(locale)))
      throw unprocessable('The locale is invalid', 'locale');
    if (JSON.stringify(metadata ?? null).length > 1_024)
      throw unprocessable('The metadata is too long', 'metadata');
    const paymentId = id('tr');
    const payment: MolliePayment = {
      resource: 'payment',
      id: paymentId,
      mode: 'test',
      createdAt: at(),
      amount,
      description: description.slice(0, 255),
      method: null,
      metadata: metadata ?? null,
      status: 'open',
      isCancelable: false,
      expiresAt: at(now() + 15 * 60_000),
      profileId: service.profile['id'],
      sequenceType: 'oneoff',
      redirectUrl,
      ...(cancelUrl !== undefined && { cancelUrl }),
      ...(webhookUrl !== undefined && { webhookUrl }),
      ...(locale !== undefined && { locale }),
      ...(billingAddress !== undefined && { billingAddress }),
      _links: {
        self: { href: `${api}/payments/${paymentId}`, type: 'application/hal+json' },
        checkout: {
          href: `https://www.mollie.com/checkout/select-method/${paymentId.slice(3)}`,
          type: 'text/html',
        },
        dashboard: { href: `https://www.mollie.com/dashboard/payments/${paymentId}`, type: 'text/html' },
      },
    };
    payments.set(paymentId, payment);
    return payment;
  }

  function pay(paymentId: string, chosen: MollieMethod = { method: 'creditcard' }): void {
    const payment = paymentOf(paymentId);
    if (!['open', 'pending'].includes(payment.status)) throw new Error('the payment has ended');
    const details = 'details' in chosen && chosen.details ? chosen.details : {};
    Object.assign(payment, {
      status: 'paid',
      method: chosen.method,
      paidAt: at(),
      amountRefunded: withMinor(payment.amount, 0),
      amountRemaining: payment.amount,
      details: chosen.method === 'creditcard' ? { ...cardDetails, ...details } : { consumerName: 'T. TEST' },
    });
    delete payment['expiresAt'];
    delete payment.isCancelable;
    delete (payment['_links'] as Json)['checkout'];
    changed(payment);
  }

  function refundedOf(payment: MolliePayment): number {
    return [...refunds.values()]
      .filter(
        ({ paymentId, status }) => paymentId === payment.id && status !== 'failed' && status !== 'canceled',
      )
      .reduce((sum, { amount }) => sum + minorOf(amount), 0);
  }

  function noteRefunds(payment: MolliePayment): void {
    const refunded = refundedOf(payment);
    payment['amountRefunded'] = withMinor(payment.amount, refunded);
    payment['amountRemaining'] = withMinor(payment.amount, minorOf(payment.amount) - refunded);
  }

  function createRefund(
    payment: MolliePayment,
    content: Json,
    status: MollieRefund['status'] = 'pending',
  ): MollieRefund {
    const unknown = Object.keys(content).find((name) => !refundFields.has(name));
    if (unknown !== undefined) throw unprocessable(`Non-existent body parameter "${unknown}"`, unknown);
    if (payment.status !== 'paid') throw unprocessable('The payment cannot be refunded');
    const { amount, minor } = checkAmount(content['amount']);
    if (amount.currency !== payment.amount.currency)
      throw unprocessable('The currency differs', 'amount.currency');
    if (minor > minorOf(payment.amount) - refundedOf(payment))
      throw unprocessable('The amount is higher than the maximum', 'amount');
    const refundId = id('re');
    const refund: MollieRefund = {
      resource: 'refund',
      id: refundId,
      mode: 'test',
      amount,
      status,
      createdAt: at(),
      description: content['description'] ?? payment['description'],
      metadata: content['metadata'] ?? null,
      paymentId: payment.id,
      _links: {
        self: { href: `${api}/payments/${payment.id}/refunds/${refundId}`, type: 'application/hal+json' },
        payment: { href: `${api}/payments/${payment.id}`, type: 'application/hal+json' },
      },
    };
    refunds.set(refundId, refund);
    noteRefunds(payment);
    changed(payment);
    return refund;
  }

  function embedded(payment: MolliePayment, embed: readonly string[]): Json {
    const unknown = embed.find((name) => !['captures', 'refunds', 'chargebacks'].includes(name));
    if (unknown !== undefined)
      throw new MollieRejection(400, 'Bad Request', `Invalid embed: ${unknown}`, 'embed');
    const of = (all: Iterable<{ readonly paymentId: string }>) =>
      [...all].filter(({ paymentId }) => paymentId === payment.id).toReversed();
    return embed.length === 0
      ? payment
      : {
          ...payment,
          _embedded: {
            ...(embed.includes('refunds') && { refunds: of(refunds.values()) }),
            ...(embed.includes('chargebacks') && { chargebacks: of(chargebacks.values()) }),
          },
        };
  }

  /** A page of the newest objects first, from one on. */
  function listed(
    name: string,
    all: Iterable<{ readonly id: string }>,
    path: string,
    query: URLSearchParams,
  ): Json {
    const limit = Number(query.get('limit') ?? 50);
    if (!(limit >= 1 && limit <= 250))
      throw new MollieRejection(400, 'Bad Request', 'Invalid limit', 'limit');
    const newest = [...all].toReversed();
    const from = query.get('from');
    const start = from === null ? 0 : newest.findIndex((each) => each.id === from);
    if (start < 0) throw new MollieRejection(400, 'Bad Request', 'Invalid cursor value', 'from');
    const page = newest.slice(start, start + limit);
    const next = newest[start + limit];
    const link = (query_: string) => ({
      href: `https://api.mollie.com${path}?${query_}`,
      type: 'application/hal+json',
    });
    return {
      count: page.length,
      _embedded: { [name]: page },
      _links: {
        self: link(`limit=${limit}`),
        previous: null,
        next: next ? link(`from=${next.id}&limit=${limit}`) : null,
      },
    };
  }

  function call({ method, path, query, body }: ProviderRequest): ProviderResponse {
    const content = (): Json => JSON.parse(body) as Json;
    const found = (value: object): ProviderResponse => ({ status: 200, body: value });
    const embed = (query.get('embed') ?? '').split(',').filter((name) => name !== '');
    if (path === '/v2/payments' && method === 'POST') return { status: 201, body: createPayment(content()) };
    if (method === 'GET' && path === '/v2/payments')
      return found(listed('payments', payments.values(), path, query));
    if (method === 'GET' && path === '/v2/refunds')
      return found(listed('refunds', refunds.values(), path, query));
    if (method === 'GET' && path === '/v2/chargebacks')
      return found(listed('chargebacks', chargebacks.values(), path, query));
    if (method === 'GET' && path === '/v2/profiles/me') return found(service.profile);
    if (method === 'GET' && path === '/v2/methods')
      return found({
        count: service.methods.length,
        _embedded: {
          methods: service.methods.map((each) => ({ resource: 'method', id: each, description: each })),
        },
        _links: { self: { href: `${api}/methods`, type: 'application/hal+json' } },
      });
    const [, paymentId, part] = /^\/v2\/payments\/(tr_\w+)(\/refunds)?$/.exec(path) ?? [];
    if (paymentId === undefined) throw missing(path);
    const payment = paymentOf(paymentId);
    if (part === undefined && method === 'GET') return found(embedded(payment, embed));
    if (part === undefined && method === 'DELETE') {
      if (payment.isCancelable !== true) throw unprocessable('The payment cannot be canceled');
      end(paymentId, 'canceled');
      return found(payment);
    }
    if (part !== undefined && method === 'POST')
      return { status: 201, body: createRefund(payment, content()) };
    if (part !== undefined && method === 'GET') {
      const own = [...refunds.values()].filter((each) => each.paymentId === paymentId);
      return found(listed('refunds', own, path, query));
    }
    throw new MollieRejection(405, 'Method Not Allowed', 'The method is not allowed');
  }

  function rejection(error: unknown): ProviderResponse {
    if (!(error instanceof MollieRejection)) throw error;
    const { status, title, message: detail, field } = error;
    return {
      status,
      body: {
        status,
        title,
        detail,
        ...(field !== undefined && { field }),
        _links: { documentation: { href: 'https://docs.mollie.com/errors', type: 'text/html' } },
      },
    };
  }

  const server = await startProviderServer('api.mollie.com', async (request) => {
    const { method, path, headers, body } = request;
    const [, key = ''] = /^Bearer (\S+)$/.exec(headers.authorization ?? '') ?? [];
    if (!keys.has(key))
      return rejection(
        new MollieRejection(401, 'Unauthorized Request', 'Missing authentication, or failed to authenticate'),
      );
    const idempotencyKey = method === 'POST' ? headers['idempotency-key'] : undefined;
    const carryOut = (): ProviderResponse => {
      try {
        return structuredClone(call(request));
      } catch (error) {
        return rejection(error);
      }
    };
    const conflict = (): ProviderResponse =>
      rejection(
        new MollieRejection(409, 'Conflict', 'A request with this idempotency key is being processed'),
      );
    return await repeats.respond(idempotencyKey as string | undefined, `${path} ${body}`, {
      carryOut,
      reused: () =>
        rejection(
          new MollieRejection(400, 'Bad Request', 'The idempotency key was used with another request'),
        ),
      busy: conflict,
    });
  });
  const service: MollieService = Object.assign(server, {
    payments,
    refunds,
    chargebacks,
    keys,
    hints,
    profile: {
      resource: 'profile',
      id: 'pfl_QkEhN94Ba',
      mode: 'test',
      name: 'Flowers',
      website: 'https://flowers.example',
      status: 'verified',
    },
    methods: ['creditcard', 'ideal'],
    pay,
    choose(paymentId: string, method: 'banktransfer') {
      const payment = paymentOf(paymentId);
      Object.assign(payment, { status: 'pending', method, isCancelable: true });
      changed(payment);
    },
    end,
    refund: (paymentId: string, value: string, status: MollieRefund['status'] = 'refunded') =>
      createRefund(paymentOf(paymentId), { amount: { ...paymentOf(paymentId).amount, value } }, status).id,
    changeRefund(refundId: string, status: MollieRefund['status']) {
      const refund = refunds.get(refundId);
      if (!refund) throw new Error('there is no refund');
      refund.status = status;
      const payment = paymentOf(refund.paymentId);
      noteRefunds(payment);
      changed(payment);
    },
    chargeBack(paymentId: string) {
      const payment = paymentOf(paymentId);
      const chargebackId = id('chb');
      chargebacks.set(chargebackId, {
        resource: 'chargeback',
        id: chargebackId,
        amount: payment.amount,
        createdAt: at(),
        reason: null,
        paymentId,
        reversedAt: null,
        _links: {
          self: {
            href: `${api}/payments/${paymentId}/chargebacks/${chargebackId}`,
            type: 'application/hal+json',
          },
        },
      });
      payment['amountChargedBack'] = payment.amount;
      changed(payment);
      return chargebackId;
    },
    reverse(chargebackId: string) {
      const chargeback = chargebacks.get(chargebackId);
      if (!chargeback) throw new Error('there is no chargeback');
      chargeback.reversedAt = at();
      changed(paymentOf(chargeback.paymentId));
    },
  });
  return service;
}
