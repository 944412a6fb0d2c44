/** The objects of Stripe's published schema, which the types of the official library check. */

import type Stripe from 'stripe';
import type { StripeCard } from './stripe.ts';

/** The id of a field that the library's types allow to be an object; empty: null. */
export function idIn(field: string | { readonly id: string } | null | undefined): string {
  return typeof field === 'string' ? field : (field?.id ?? '');
}

type Form = Readonly<Record<string, string>>;

/** The values of `prefix[name]`. */
function metadataIn(form: Form, prefix: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(form).flatMap(([name, value]) =>
      name.startsWith(`${prefix}[`) ? [[name.slice(prefix.length + 1, -1), value]] : [],
    ),
  );
}

const intentMetadata = new WeakMap<Stripe.Checkout.Session, Record<string, string>>();

export function newSession(
  id: string,
  {
    form,
    amount,
    currency,
    expiresAt,
    created,
    locale,
  }: {
    readonly form: Form;
    readonly amount: number;
    readonly currency: string;
    readonly expiresAt: number;
    readonly created: number;
    readonly locale: string;
  },
): Stripe.Checkout.Session {
  const session: Stripe.Checkout.Session = {
    id,
    object: 'checkout.session',
    adaptive_pricing: { enabled: form['adaptive_pricing[enabled]'] !== 'false' },
    after_expiration: null,
    allow_promotion_codes: null,
    allowed_payment_method_types: null,
    amount_subtotal: amount,
    amount_total: amount,
    automatic_tax: { enabled: false, liability: null, provider: null, status: null },
    billing_address_collection: null,
    cancel_url: form['cancel_url'] ?? null,
    client_reference_id: form['client_reference_id'] ?? null,
    client_secret: null,
    collected_information: null,
    consent: null,
    consent_collection: null,
    created,
    currency,
    currency_conversion: null,
    custom_fields: [],
    custom_text: {
      after_submit: null,
      shipping_address: null,
      submit: null,
      terms_of_service_acceptance: null,
    },
    customer: null,
    customer_account: null,
    customer_creation: 'if_required',
    customer_details: null,
    customer_email: form['customer_email'] ?? null,
    discounts: null,
    expires_at: expiresAt,
    integration_identifier: null,
    invoice: null,
    invoice_creation: null,
    livemode: false,
    locale,
    managed_payments: null,
    metadata: metadataIn(form, 'metadata'),
    mode: 'payment',
    origin_context: null,
    payment_intent: null,
    payment_link: null,
    payment_method_collection: 'if_required',
    payment_method_configuration_details: null,
    payment_method_options: { card: { request_three_d_secure: 'any' } },
    payment_method_types: ['card'],
    payment_status: 'unpaid',
    permissions: null,
    recovered_from: null,
    saved_payment_method_options: null,
    setup_intent: null,
    shipping_address_collection: null,
    shipping_cost: null,
    shipping_options: [],
    status: 'open',
    submit_type: null,
    subscription: null,
    success_url: form['success_url'] ?? null,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted_page',
    url: `https://checkout.stripe.com/c/pay/${id}#fid`,
    wallet_options: null,
  };
  intentMetadata.set(session, metadataIn(form, 'payment_intent_data[metadata]'));
  return session;
}

export function newCharge(
  id: string,
  {
    session,
    method,
    created,
    isPaid,
  }: {
    readonly session: Stripe.Checkout.Session;
    readonly method: StripeCard | 'sepa_debit' | 'ideal';
    readonly created: number;
    readonly isPaid: boolean;
  },
): Stripe.Charge {
  const amount = session.amount_total ?? 0;
  return {
    id,
    object: 'charge',
    amount,
    amount_captured: isPaid ? amount : 0,
    amount_refunded: 0,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: null,
    billing_details: { address: null, email: session.customer_email, name: null, phone: null, tax_id: null },
    calculated_statement_descriptor: 'FLOWERS',
    captured: isPaid,
    created,
    currency: session.currency ?? 'usd',
    customer: null,
    description: null,
    disputed: false,
    failure_balance_transaction: null,
    failure_code: null,
    failure_message: null,
    fraud_details: {},
    livemode: false,
    metadata: intentMetadata.get(session) ?? {},
    on_behalf_of: null,
    outcome: {
      advice_code: null,
      network_advice_code: null,
      network_decline_code: null,
      network_status: 'approved_by_network',
      reason: null,
      risk_level: typeof method === 'string' ? 'not_assessed' : (method.risk ?? 'normal'),
      seller_message: 'Payment complete.',
      type: 'authorized',
    },
    paid: isPaid,
    payment_intent: null,
    payment_method: 'pm_1PgaftB7WZ01zgkWm3waTcFp',
    payment_method_details: detailsOf(method),
    receipt_email: null,
    receipt_number: null,
    receipt_url: null,
    refunded: false,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: isPaid ? 'succeeded' : 'pending',
    transfer_data: null,
    transfer_group: null,
  };
}

function detailsOf(method: StripeCard | 'sepa_debit' | 'ideal'): Stripe.Charge.PaymentMethodDetails {
  if (method === 'sepa_debit')
    return {
      type: 'sepa_debit',
      sepa_debit: {
        bank_code: '37040044',
        branch_code: '',
        country: 'DE',
        fingerprint: 'vifs0Ho7vwRn1Miu',
        last4: '3000',
        mandate: null,
      },
    };
  if (method === 'ideal')
    return {
      type: 'ideal',
      ideal: {
        bank: 'ing',
        bic: 'INGBNL2A',
        generated_sepa_debit: null,
        generated_sepa_debit_mandate: null,
        iban_last4: null,
        transaction_id: null,
        verified_name: null,
      },
    };
  const { brand = 'visa', last4 = '4242', country = 'DE', fingerprint = 'AOB934RVNwzk6xtn' } = method;
  const { threeDSecure = 'authenticated' } = method;
  return {
    type: 'card',
    card: {
      amount_authorized: null,
      authorization_code: null,
      brand,
      checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' },
      country,
      electronic_commerce_indicator: null,
      transaction_link_id: null,
      exp_month: 8,
      exp_year: 2030,
      fingerprint,
      funding: 'credit',
      installments: null,
      last4,
      mandate: null,
      network: brand,
      network_token: { used: false },
      network_transaction_id: null,
      regulated_status: 'unregulated',
      three_d_secure:
        threeDSecure === null
          ? null
          : {
              authentication_flow: 'challenge',
              electronic_commerce_indicator: '05',
              exemption_indicator: null,
              result: threeDSecure,
              result_reason: null,
              transaction_id: null,
              version: '2.2.0',
            },
      wallet: null,
    },
  };
}

export function newIntent(
  id: string,
  {
    session,
    charge,
    created,
    isPaid,
  }: {
    readonly session: Stripe.Checkout.Session;
    readonly charge: Stripe.Charge;
    readonly created: number;
    readonly isPaid: boolean;
  },
): Stripe.PaymentIntent {
  const amount = session.amount_total ?? 0;
  return {
    id,
    object: 'payment_intent',
    amount,
    amount_capturable: 0,
    amount_details: { tip: {} },
    amount_received: isPaid ? amount : 0,
    allowed_payment_method_types: null,
    payment_record: null,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic_async',
    client_secret: null,
    confirmation_method: 'automatic',
    created,
    currency: session.currency ?? 'usd',
    customer: null,
    customer_account: null,
    description: null,
    excluded_payment_method_types: null,
    last_payment_error: null,
    latest_charge: charge.id,
    livemode: false,
    managed_payments: null,
    metadata: intentMetadata.get(session) ?? {},
    next_action: null,
    on_behalf_of: null,
    payment_method: 'pm_1PgaftB7WZ01zgkWm3waTcFp',
    payment_method_configuration_details: null,
    payment_method_options: {},
    payment_method_types: ['card'],
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: null,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: isPaid ? 'succeeded' : 'processing',
    transfer_data: null,
    transfer_group: null,
  };
}

export function newRefund(
  id: string,
  {
    charge,
    amount,
    metadata,
    status,
    created,
  }: {
    readonly charge: Stripe.Charge;
    readonly amount: number;
    readonly metadata: Readonly<Record<string, string>>;
    readonly status: string;
    readonly created: number;
  },
): Stripe.Refund {
  return {
    id,
    object: 'refund',
    amount,
    balance_transaction: null,
    charge: charge.id,
    created,
    currency: charge.currency,
    customer: null,
    customer_account: null,
    destination_details: { card: { type: 'refund' }, type: 'card' },
    metadata,
    payment_intent: charge.payment_intent,
    payment_method: null,
    reason: null,
    receipt_number: null,
    source_transfer_reversal: null,
    status,
    transfer_reversal: null,
  };
}

export function newDispute(
  id: string,
  {
    charge,
    status,
    created,
  }: { readonly charge: Stripe.Charge; readonly status: Stripe.Dispute.Status; readonly created: number },
): Stripe.Dispute {
  return {
    id,
    object: 'dispute',
    amount: charge.amount,
    balance_transactions: [],
    charge: charge.id,
    created,
    currency: charge.currency,
    enhanced_eligibility_types: [],
    evidence: { enhanced_evidence: {} },
    evidence_details: {
      due_by: created + 604_800,
      enhanced_eligibility: {},
      has_evidence: false,
      past_due: false,
      submission_count: 0,
    },
    is_charge_refundable: false,
    livemode: false,
    metadata: {},
    payment_intent: charge.payment_intent,
    reason: 'fraudulent',
    status,
  } as unknown as Stripe.Dispute;
}

export function newWarning(
  id: string,
  { charge, created }: { readonly charge: Stripe.Charge; readonly created: number },
): Stripe.Radar.EarlyFraudWarning {
  return {
    id,
    object: 'radar.early_fraud_warning',
    actionable: true,
    charge: charge.id,
    created,
    fraud_type: 'unauthorized_use_of_card',
    livemode: false,
    payment_intent: idIn(charge.payment_intent),
  };
}

export function newTransaction(
  id: string,
  {
    amount,
    currency,
    fee,
    source,
    category,
    created,
  }: {
    readonly amount: number;
    readonly currency: string;
    readonly fee: number;
    readonly source: string;
    readonly category: string;
    readonly created: number;
  },
): Stripe.BalanceTransaction {
  return {
    id,
    object: 'balance_transaction',
    amount,
    available_on: created + 172_800,
    balance_type: 'payments',
    created,
    currency,
    description: null,
    exchange_rate: null,
    fee,
    fee_details: [],
    net: amount - fee,
    reporting_category: category,
    source,
    status: 'available',
    type: category === 'dispute' || category === 'dispute_reversal' ? 'adjustment' : category,
  };
}
