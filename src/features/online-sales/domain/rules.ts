/** The rules of a store's buy page: what a form can ask for, and which paid sales staff review. */

import { addDays } from '../../../core/domain/day.ts';
import { exceeds, formatMoney, type Money } from '../../../core/money/domain/money.ts';
import { longerThan } from '../../../core/domain/text.ts';
import { hasLink, hasNumber } from './buyer-text.ts';
import type { Payment } from './payment.ts';
import { formLengths, type OnlineSale, type ReviewReason, type SaleForm } from './sale.ts';

export const presetsMax = 6;
export const frameDomainsMax = 10;
export const termsUrlLengthMax = 500;
/** In code points. */
export const termsTextLengthMax = 40_000;

/** Whether visitors do some work before they submit a form. `auto`: while many forms are opened. */
export const workDemands = ['off', 'on', 'auto'] as const;

export type WorkDemand = (typeof workDemands)[number];

/** The settings of a store's buy page. Amounts are in the store's currency. */
export type SalePage = {
  readonly storeId: number;
  readonly isOpen: boolean;
  readonly presets: readonly Money[];
  readonly min: Money;
  /** Also the limit of one card. */
  readonly max: Money;
  /** Months for which a card is valid; null: it does not expire. */
  readonly validityMonths: number | null;
  /** Null: the page cannot be opened. */
  readonly termsUrl: string | null;
  /**
   * The terms themselves, in the receipt: a link is not a durable medium (CJEU C-49/11), on which a buyer gets the terms
   * after the order (2011/83/EU, article 8(7)). Null: the receipt has only their address.
   */
  readonly termsText: string | null;
  readonly privacyUrl: string | null;
  readonly imprintUrl: string | null;
  /** The hosts whose pages can show the buy page in a frame. */
  readonly frameDomains: readonly string[];
  /** The most that is sold per day; null: there is no limit. */
  readonly addressLimit: Money | null;
  readonly cardLimit: Money | null;
  readonly networkLimit: Money | null;
  readonly storeLimit: Money | null;
  /** Larger sales are reviewed; null: none is because of its amount. */
  readonly reviewAbove: Money | null;
  readonly reviewsFirst: boolean;
  readonly reviewsForeign: boolean;
  /** Hours after which the money of a sale goes back without a decision. */
  readonly reviewHours: number;
  /** Minutes after the payment at which the card is sent. */
  readonly delayMinutes: number;
  readonly work: WorkDemand;
  /** The two-letter code of the country whose payment cards are not foreign; null: unknown. */
  readonly country: string | null;
  readonly updatedAt: number;
};

const formFields = [
  'amount',
  'buyer_name',
  'recipient_name',
  'recipient',
  'sender_name',
  'message',
  'send_on',
] as const;

export type FormField = (typeof formFields)[number];

/** A form's error, which the pages write in the visitor's language. */
export type FormError = {
  readonly field: FormField;
  readonly reason:
    'missing' | 'unexpected' | 'too-low' | 'too-high' | 'too-long' | 'link' | 'number' | 'past' | 'too-late';
};

/** The days ahead for which a card can be sent. */
export const sendAheadDays = 365;

/** The errors of a form, of which each field was parsed. @param today the present day of the store. */
export function formErrors(form: SaleForm, page: SalePage, today: string): readonly FormError[] {
  const errors: FormError[] = [];
  const add = (field: FormField, reason: FormError['reason']) => errors.push({ field, reason });
  if (exceeds(page.min, form.amount)) add('amount', 'too-low');
  if (exceeds(form.amount, page.max)) add('amount', 'too-high');
  const lines = [
    ['buyer_name', form.buyerName],
    ['recipient_name', form.recipientName],
    ['sender_name', form.senderName],
  ] as const;
  for (const [field, text] of lines) {
    if (text === null) continue;
    if (longerThan(text, formLengths.name)) add(field, 'too-long');
    else if (hasLink(text)) add(field, 'link');
    else if (hasNumber(text)) add(field, 'number');
  }
  if (form.message !== null) {
    if (longerThan(form.message, formLengths.message)) add('message', 'too-long');
    else if (hasLink(form.message)) add('message', 'link');
  }
  if (form.delivery === 'email' && !form.recipient) add('recipient', 'missing');
  if (form.delivery === 'self' && form.recipient) add('recipient', 'unexpected');
  if (form.sendOn !== null) {
    if (form.delivery === 'self') add('send_on', 'unexpected');
    else if (form.sendOn < today) add('send_on', 'past');
    else if (form.sendOn > addDays(today, sendAheadDays)) add('send_on', 'too-late');
  }
  return errors;
}

/** The error as the API and the log write it, after the name of the field. */
export function formErrorText({ reason }: FormError, { min, max }: SalePage): string {
  switch (reason) {
    case 'missing':
      return 'is required';
    case 'unexpected':
      return 'cannot be set for a card that the buyer receives';
    case 'too-low':
      return `must be at least ${formatMoney(min)}`;
    case 'too-high':
      return `must be at most ${formatMoney(max)}`;
    case 'too-long':
      return 'is too long';
    case 'link':
      return 'cannot contain an @ or a web address: a full stop needs a space before the next word';
    case 'number':
      return 'cannot contain a phone number or an amount';
    case 'past':
      return 'must not be in the past';
    case 'too-late':
      return 'must be at most a year ahead';
  }
}

/** The limits of a day, which count what was paid. */
const dayLimits = ['address', 'card', 'network', 'store'] as const;

export type DayLimit = (typeof dayLimits)[number];

/** Minor units that were paid before on a day, by the address, payment card and network of a sale, and in the store. */
export type SoldBefore = Readonly<Record<DayLimit, bigint>>;

/**
 * Forms that are accepted in this time from one network, and from one address in it, before they are paid. They count by
 * number, because a form of any amount costs nothing. Those of an address in other networks do not count, because anyone can
 * enter it.
 */
export const unpaidForms = { periodMs: 10 * 60_000, ofNetwork: 20, ofAddress: 5 } as const;

/**
 * Orders from which a buyer can withdraw on a day with one payment card, or with one mailbox if the payment has no card. Each
 * has sent an email with the buyer's words, which costs nothing after it. Staff can refund more.
 */
export const withdrawalsPerDay = 3;

function limitOf(page: SalePage, limit: DayLimit): Money | null {
  switch (limit) {
    case 'address':
      return page.addressLimit;
    case 'card':
      return page.cardLimit;
    case 'network':
      return page.networkLimit;
    case 'store':
      return page.storeLimit;
  }
}

/** Whether a sale would exceed a limit of a day. @param sold minor units that were sold before. */
export function exceedsLimit(page: SalePage, limit: DayLimit, sold: bigint, amount: Money): boolean {
  const max = limitOf(page, limit);
  return max !== null && sold + amount.minor > max.minor;
}

/** The facts about a paid sale when its card can be made. */
export type ReviewFacts = {
  readonly sale: Pick<OnlineSale, 'amount'>;
  readonly payment: Pick<Payment, 'isRisky' | 'cardCountry'>;
  /** Whether a card was made for an earlier sale of the same address. */
  readonly isFirst: boolean;
  readonly sold: SoldBefore;
};

/** The reasons for which staff review a paid sale; none: its card is made at once. */
export function reviewReasonsOf(
  page: SalePage,
  { sale, payment, isFirst, sold }: ReviewFacts,
): readonly ReviewReason[] {
  const { amount } = sale;
  const isForeign = payment.cardCountry !== null && payment.cardCountry !== page.country;
  const reasons: readonly (readonly [ReviewReason, boolean])[] = [
    ['amount', page.reviewAbove !== null && exceeds(amount, page.reviewAbove)],
    ['first', page.reviewsFirst && isFirst],
    ['foreign', page.reviewsForeign && page.country !== null && isForeign],
    ['risky', payment.isRisky],
    ...dayLimits.map((limit) => [`${limit}_limit`, exceedsLimit(page, limit, sold[limit], amount)] as const),
  ];
  return reasons.flatMap(([reason, applies]) => (applies ? [reason] : []));
}
