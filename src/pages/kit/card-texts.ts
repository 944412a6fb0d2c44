/** The texts with which all pages name a card, and say why it cannot be changed. */

import type { Card } from '../../core/cards/domain/card.ts';
import type { Fault, FaultCode } from '../../core/domain/fault.ts';
import { dayText } from './format.ts';
import type { ConsoleServices } from './services.ts';
import { fillPlain, textsOf, type PageLanguage, type Texts } from './texts.ts';

export const changeTexts = textsOf('cardActions');

/** The last characters of a card's code, as pages name the card. */
export function endingOf({ lastCharacters }: Pick<Card, 'lastCharacters'>): string {
  return `•••• ${lastCharacters}`;
}

export function pathOfCard({ ctx }: Pick<ConsoleServices, 'ctx'>, { id }: Pick<Card, 'id'>): string {
  return `/cards/${String(ctx.keys.publicIds.of(id))}`;
}

type Reasons = Texts['cardActions']['reasons'];

/** The reason why the state of a card or hold does not allow a change. */
const reasonNames: Readonly<Partial<Record<FaultCode, keyof Reasons>>> = {
  'card-disabled': 'disabled',
  'card-expired': 'expired',
  'card-suspended': 'suspended',
  'hold-closed': 'holdClosed',
  'hold-expired': 'holdExpired',
  'not-reversible': 'notRefundable',
  'undo-window-closed': 'undoClosed',
  'no-mail': 'noEmails',
  'no-address': 'noAddress',
  'too-many-requests': 'tooOften',
};

/** The reason of a fault in the language of the page; undefined: the fault is not about the state of the card. */
export function reasonOf(
  { code, retryAfterSeconds = 0 }: Pick<Fault, 'code' | 'retryAfterSeconds'>,
  { expiresOn }: Pick<Card, 'expiresOn'>,
  language: PageLanguage,
): string | undefined {
  const name = reasonNames[code];
  if (name === undefined) return undefined;
  const date = expiresOn === null ? '' : dayText(expiresOn, language);
  const minutes = new Intl.NumberFormat(language).format(Math.max(1, Math.ceil(retryAfterSeconds / 60)));
  return fillPlain(changeTexts[language].reasons[name], { date, minutes });
}
