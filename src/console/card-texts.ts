/** The texts of the pages of one card, the card that a path names, and the names and amounts of its movements. */

import { effectOf, increases, type Transfer } from '../domain/ledger.ts';
import { amountText } from './format.ts';
import de from './locales/de/card.json' with { type: 'json' };
import en from './locales/en/card.json' with { type: 'json' };
import es from './locales/es/card.json' with { type: 'json' };
import fr from './locales/fr/card.json' with { type: 'json' };
import type { Catalogue, PageLanguage } from './texts.ts';

export const cardTexts: Catalogue<typeof en> = { en, de, fr, es };

/** The change of the balance, with its sign. */
export function signedAmount(transfer: Transfer, language: PageLanguage): string {
  const effect = effectOf(transfer);
  const { currency } = transfer.amount;
  const amount = amountText({ minor: effect < 0n ? -effect : effect, currency }, language);
  return `${increases(transfer.credit) ? '+' : '−'}${amount}`;
}

/** The name of a movement. The reversal of a credit takes value back; all others return it. */
export function movementName(transfer: Transfer, language: PageLanguage): string {
  const text = cardTexts[language];
  if (transfer.kind !== 'reversal') return text.transfers[transfer.kind];
  return increases(transfer.credit) ? text.reversals.debit : text.reversals.credit;
}
