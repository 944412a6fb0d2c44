/** What each kind of mail has to be told. Days are `YYYY-MM-DD`, links https. */

import type { Money } from '../../domain/money.ts';
import type { Secret } from '../../domain/secret.ts';

/** To the recipient: the card itself. The only mail that has the code. */
export type GiftCardDetails = {
  readonly code: Secret;
  readonly value: Money;
  /** What the buyer wrote: text, whatever it looks like. */
  readonly message: string | null;
  readonly expiresOn: string | null;
  /** The card's page. Whoever reads the mail has the code, but no log of a link may: it is not in there. */
  readonly pageUrl: string | null;
};

/** To the buyer: what was bought. */
export type ReceiptDetails = {
  readonly value: Money;
  readonly lastCharacters: string;
  /** The address that the card goes to; null: nobody was named. */
  readonly recipient: string | null;
  readonly message: string | null;
  readonly issuedOn: string;
  /** The day on which the recipient gets the card; null: at once. */
  readonly sendOn: string | null;
  readonly expiresOn: string | null;
  readonly orderId: number | null;
};

/** To the holder: the card runs out on a day. */
export type ExpiryReminderDetails = {
  readonly balance: Money;
  readonly lastCharacters: string;
  readonly expiresOn: string;
  readonly pageUrl: string | null;
  /** Where the holder declines further reminders. */
  readonly unsubscribeUrl: string | null;
};

/** To the holder: there is money on the card. */
export type BalanceReminderDetails = Omit<ExpiryReminderDetails, 'expiresOn'> & {
  readonly expiresOn: string | null;
};

/** To the buyer: the mail to the recipient came back. */
export type DeliveryFailedDetails = {
  readonly value: Money;
  readonly lastCharacters: string;
  /** The address that did not take the mail. */
  readonly recipient: string;
};

/** A mail that is to be made. */
export type MailRequest =
  | { readonly kind: 'gift_card'; readonly details: GiftCardDetails }
  | { readonly kind: 'receipt'; readonly details: ReceiptDetails }
  | { readonly kind: 'expiry_reminder'; readonly details: ExpiryReminderDetails }
  | { readonly kind: 'balance_reminder'; readonly details: BalanceReminderDetails }
  | { readonly kind: 'delivery_failed'; readonly details: DeliveryFailedDetails };
