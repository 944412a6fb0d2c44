/** The texts of the pages of one card, the card that a path names, and the names and amounts of its movements. */

import { effectOf, increases, type Transfer } from '../../../core/money/domain/ledger.ts';
import { signedText } from '../../../pages/kit/format.ts';
import { type PageLanguage, textsOf } from '../../../pages/kit/texts.ts';

export const cardTexts = textsOf('card');

/** The change of the balance, with its sign. */
export function signedAmount(transfer: Transfer, language: PageLanguage): string {
  return signedText({ ...transfer.amount, minor: effectOf(transfer) }, language);
}

/** The name of a movement. The reversal of a credit takes value back; all others return it. */
export function movementName(transfer: Transfer, language: PageLanguage): string {
  const text = cardTexts[language];
  if (transfer.kind !== 'reversal') return text.transfers[transfer.kind];
  return increases(transfer.credit) ? text.reversals.debit : text.reversals.credit;
}
