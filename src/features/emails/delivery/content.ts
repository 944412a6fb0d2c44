/**
 * The content of an email, as data.
 *
 * The row of an email names a card and a kind. The content is read just before each attempt, so that it is true when
 * the email is sent. Days are `YYYY-MM-DD`; links are https.
 */

import { isDisabled, isExpired, isSuspended, type Card } from '../../../core/cards/domain/card.ts';
import { dayOf } from '../../../core/domain/day.ts';
import { buyerOf, type EmailDelivery } from '../../../core/emails/domain/email.ts';
import type { Transfer } from '../../../core/money/domain/ledger.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { taxIn } from '../../../core/money/domain/vat.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { WalletLink } from '../../wallets/domain/wallet.ts';

export type EmailContent =
  | GiftCardContent
  | ReceiptContent
  | TopUpContent
  | ExpiryReminderContent
  | BalanceReminderContent
  | DeliveryFailedContent;

/** To the recipient: the card itself. The only email with the code. */
export type GiftCardContent = {
  readonly kind: 'gift_card';
  readonly code: Secret;
  /** The names of the people who give and receive the card, of any form; null: none. */
  readonly senderName: string | null;
  readonly recipientName: string | null;
  readonly amount: Money;
  /** The card's own design; null: that of the store. */
  readonly design: string | null;
  /** Text of the buyer, of any form; null: none. */
  readonly message: string | null;
  readonly expiresOn: string | null;
  /** The card's page. Only after `#`, which browsers do not send, a link has the code: servers log links. */
  readonly pageUrl: string | null;
  /** The URL of the service's page of recipients, which reads the code of a link; null: it is not known. */
  readonly cardPage: string | null;
  /** Null: the store has set no wallet up. */
  readonly wallets: WalletLink | null;
  /** Whether a visitor of the buy page has entered the recipient's address, so that the email says it. */
  readonly isFromBuyer: boolean;
};

/** An order on the buy page, as its receipt names it. */
export type ReceiptOrder = {
  /** The number that people read. */
  readonly number: string;
  /** The page of the order; null: the service does not know its own address. */
  readonly url: string | null;
  /** The name of the payment method; null: unknown. */
  readonly method: string | null;
  /** The text of the terms, of any form; null: the email has only their address. */
  readonly terms: string | null;
  /** Whether the card is for the buyer, who can see it on the page of the order. */
  readonly isForBuyer: boolean;
};

/** The tax of a single-purpose card, which its price contains. */
export type ReceiptTax = { readonly rate: string; readonly amount: Money };

/** To the buyer: the purchase. */
export type ReceiptContent = {
  readonly kind: 'receipt';
  readonly amount: Money;
  readonly lastCharacters: string;
  readonly senderName: string | null;
  readonly recipientName: string | null;
  /** The recipient's address; null: none. */
  readonly recipient: string | null;
  readonly message: string | null;
  readonly issuedOn: string;
  /** The name of the location of the purchase; null: none. */
  readonly place: string | null;
  /** The day on which the recipient's email is sent; null: the day of the purchase. */
  readonly sendOn: string | null;
  readonly expiresOn: string | null;
  readonly orderId: number | null;
  /** Null: the card was not bought on the buy page. */
  readonly order: ReceiptOrder | null;
  /** Null: no tax is due for a multi-purpose card before it is spent, or the card was not bought on the buy page. */
  readonly tax: ReceiptTax | null;
};

/** To the holder: money was added to the card. */
export type TopUpContent = {
  readonly kind: 'top_up';
  readonly recipientName: string | null;
  /** The added amount. */
  readonly amount: Money;
  /** The balance after it. */
  readonly balance: Money;
  readonly lastCharacters: string;
  readonly addedOn: string;
  /** The name of the location where it was added; null: none. */
  readonly place: string | null;
  readonly orderId: number | null;
  readonly expiresOn: string | null;
  readonly pageUrl: string | null;
};

type ReminderContent = {
  readonly recipientName: string | null;
  /** The card's balance. */
  readonly amount: Money;
  readonly lastCharacters: string;
  readonly pageUrl: string | null;
  /** The URL at which the holder can unsubscribe from reminders. */
  readonly unsubscribeUrl: string | null;
};

/** To the holder: the card expires on a day. */
export type ExpiryReminderContent = ReminderContent & {
  readonly kind: 'expiry_reminder';
  readonly expiresOn: string;
};

/** To the holder: the card has a balance. */
export type BalanceReminderContent = ReminderContent & {
  readonly kind: 'balance_reminder';
  readonly expiresOn: string | null;
};

/** To the buyer: the recipient's email could not be delivered. */
export type DeliveryFailedContent = {
  readonly kind: 'delivery_failed';
  readonly senderName: string | null;
  readonly amount: Money;
  readonly lastCharacters: string;
  /** The address that rejected the email. */
  readonly recipient: string;
};

/** The reason why an email is cancelled instead of sent; null if it is sent. */
export function cancelReasonOf(
  { kind }: Pick<EmailDelivery, 'kind'>,
  card: Card,
  { timeZone, now }: Pick<Store, 'timeZone'> & { readonly now: number },
): string | null {
  // These emails are about the past, so they stay true.
  if (kind === 'receipt' || kind === 'top_up' || kind === 'delivery_failed') return null;
  if (isDisabled(card)) return 'the card is disabled';
  if (isExpired(card, dayOf(now, timeZone))) return 'the card has expired';
  if (kind === 'gift_card') return null;
  if (isSuspended(card)) return 'the card is suspended';
  if (card.balance.minor === 0n) return 'the card is spent';
  return kind === 'expiry_reminder' && card.expiresOn === null ? 'the card no longer expires' : null;
}

/** Whether an email waits until its card is resumed: the card itself, and the receipt for it. */
export function isHeldWith({ kind }: Pick<EmailDelivery, 'kind'>, card: Card): boolean {
  return isSuspended(card) && (kind === 'gift_card' || kind === 'receipt');
}

export type ContentOptions = Pick<Store, 'timeZone'> & {
  readonly pageUrl: string | null;
  /** The URL of the service's page of recipients; null: it is not known. */
  readonly cardPage: string | null;
  /** Null: the store has set no wallet up. */
  readonly wallets: WalletLink | null;
  /** The card's code; null in emails without it. */
  readonly code: Secret | null;
  /** When the card's first email is sent, ms. */
  readonly cardSentAt: number;
  /** The top-up that the email is the receipt of; absent: none. */
  readonly toppedUp?: Transfer | undefined;
  /** The location of the sale that the email is the receipt of; absent: none. */
  readonly place?: Pick<Location, 'name' | 'timeZone'> | undefined;
  /** Absent: the card was not bought on the buy page. */
  readonly order?: ReceiptOrder | undefined;
};

function taxOf({ vat, initialValue: { minor, currency } }: Card): ReceiptTax | null {
  if (vat?.kind !== 'single_purpose') return null;
  return { rate: vat.rate, amount: { minor: taxIn(minor, vat.rate), currency } };
}

/** The content of an email about a card. @throws Error if the card lacks data that the kind needs. */
export function contentOf(
  { kind }: Pick<EmailDelivery, 'kind'>,
  card: Card,
  { timeZone: zone, pageUrl, cardPage, wallets, code, cardSentAt, toppedUp, place, order }: ContentOptions,
): EmailContent {
  const { balance, initialValue, message, expiresOn, lastCharacters, senderName, recipientName } = card;
  const timeZone = place?.timeZone ?? zone;
  const named = { recipientName, lastCharacters, expiresOn };
  switch (kind) {
    case 'gift_card':
      if (!code) throw new Error('a gift card email needs the code');
      return {
        kind,
        code,
        recipientName,
        senderName,
        amount: balance,
        design: card.design,
        message,
        expiresOn,
        pageUrl,
        cardPage,
        wallets,
        isFromBuyer: order?.isForBuyer === false,
      };
    case 'receipt': {
      const issuedOn = dayOf(card.createdAt, timeZone);
      const sentOn = dayOf(cardSentAt, timeZone);
      const sendOn = sentOn === issuedOn ? null : sentOn;
      const recipient = card.recipient?.email ?? null;
      const sale = {
        issuedOn,
        sendOn,
        place: place?.name ?? null,
        orderId: card.orderId,
        recipient,
        message,
        order: order ?? null,
        tax: order ? taxOf(card) : null,
      };
      return { kind, ...named, ...sale, senderName, amount: initialValue };
    }
    case 'top_up': {
      if (!toppedUp) throw new Error('the receipt of a top-up needs its transfer');
      const { amount, balanceAfter, createdAt, orderId } = toppedUp;
      const sale = { addedOn: dayOf(createdAt, timeZone), place: place?.name ?? null, orderId };
      return { kind, ...named, ...sale, pageUrl, amount, balance: balanceAfter };
    }
    case 'expiry_reminder':
      if (expiresOn === null) throw new Error('an expiry reminder needs a card that expires');
      return { kind, ...named, expiresOn, pageUrl, amount: balance, unsubscribeUrl: null };
    case 'balance_reminder':
      return { kind, ...named, pageUrl, amount: balance, unsubscribeUrl: null };
    case 'delivery_failed':
      if (!card.recipient || !buyerOf(card))
        throw new Error('a failed delivery needs a recipient and a buyer');
      return { kind, senderName, amount: initialValue, lastCharacters, recipient: card.recipient.email };
  }
}
