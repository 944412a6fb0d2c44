/** Previews of stored emails, and of the email of a new card. */

import type { Card } from '../../../core/cards/domain/card.ts';
import type { EmailDelivery, EmailSettings } from '../../../core/emails/domain/email.ts';
import type { EmailText } from './wording.ts';
import type { Logo } from '../../../core/stores/domain/logo.ts';
import type { Transfer } from '../../../core/money/domain/ledger.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { WalletKind } from '../../wallets/domain/wallet.ts';

/** An email, and what its content is read from. */
export type PreviewedEmail = {
  readonly email: Pick<EmailDelivery, 'kind'>;
  readonly card: Card;
  readonly store: Store;
  readonly settings: EmailSettings;
  /** The store's own texts. */
  readonly texts: readonly EmailText[];
  readonly logo: Logo | null;
  /** When the first email with the code of the card was or will be sent (ms). */
  readonly cardSentAt: number;
  /** The top-up that it is the receipt of; absent: none. */
  readonly toppedUp?: Transfer | undefined;
  /** The wallets that the store has set up. */
  readonly wallets: readonly WalletKind[];
  /** The location of the sale that it is the receipt of; absent: none. */
  readonly place?: Location | undefined;
};

/** The HTML of an email, in which the code is replaced by dots. */
export type StoredPreview = {
  readonly subject: string;
  readonly html: string;
};
