/** The common parts of the list of cards and the page of a card. */

import { isCardField } from '../../../core/cards/domain/fields.ts';
import { unheldOf, type Card } from '../../../core/cards/domain/card.ts';
import type { EmailState } from '../../../core/emails/domain/email.ts';
import { stateOf, type CardState } from '../../../core/cards/domain/state.ts';
import { addDays } from '../../../core/domain/day.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import type { DetailedCard } from '../../../core/cards/storage/detailed-card.ts';
import { fieldFilterText } from './fields.ts';
import type { FilterName } from './query.ts';
import { emailTexts } from '../../emails/pages/texts.ts';
import { dayText } from '../../../pages/kit/format.ts';
import { fillPlain, type PageLanguage, textsOf } from '../../../pages/kit/texts.ts';
import { reportTexts } from '../../books/pages/texts.ts';

export const cardsTexts = textsOf('cards');

const kinds: Readonly<Record<CardState, 'good' | 'wait' | 'ended'>> = {
  active: 'good',
  scheduled: 'wait',
  suspended: 'wait',
  empty: 'ended',
  expired: 'ended',
  disabled: 'ended',
};

const soonDays = 14;

function tag(kind: string, shown: string): Markup {
  return markup`<span class="tag ${kind}">${shown}</span>`;
}

/** The state of a card as a dot and a word: a problem comes before "active". */
export function stateTag(
  { card, emailStatus }: DetailedCard,
  { today, language }: { readonly today: string; readonly language: PageLanguage },
): Markup {
  const text = cardsTexts[language];
  const state = stateOf(card, { today, emailStatus });
  if (state === 'active' && emailStatus === 'bounced') return tag('bad', text.emailBounced);
  if (state === 'active' && emailStatus === 'dead') return tag('bad', text.emailDead);
  if (state === 'active' && card.expiresOn !== null && card.expiresOn <= addDays(today, soonDays))
    return tag('wait', fillPlain(text.expiresOn, { day: dayText(card.expiresOn, language) }));
  return tag(kinds[state], text.stateOf[state]);
}

/** Available, on hold and redeemed, of the initial value, or of the balance if that is more. */
export function balanceRibbon(
  { balance, initialValue, held }: Pick<Card, 'balance' | 'initialValue' | 'held'>,
  label: string,
): Markup {
  const total = balance.minor > initialValue.minor ? balance.minor : initialValue.minor;
  // Exact to a hundredth of a percent.
  const share = (minor: bigint): string =>
    total === 0n ? '0' : (Number((minor * 10_000n) / total) / 100).toString();
  return markup`<svg class="ribbon" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label="${label}"><rect class="track" width="100" height="10"/><rect class="held" width="${share(balance.minor)}" height="10"/><rect class="left" width="${share(balance.minor - held.minor)}" height="10"/></svg>`;
}

/** The last characters of a code, as a person sees and hears them. */
export function cardEnding({ card }: Pick<DetailedCard, 'card'>, language: PageLanguage): Markup {
  return markup`<span aria-hidden="true">•••• </span><span class="sr">${cardsTexts[language].endsIn} </span>${card.lastCharacters}`;
}

/** Whether a person can redeem from a card now. */
export function isSpendable({ card, emailStatus }: DetailedCard, today: string): boolean {
  const state = stateOf(card, { today, emailStatus });
  return (state === 'active' || state === 'scheduled') && unheldOf(card).minor > 0n;
}

/** The names of what filters have as ids. */
export type FilterNames = {
  readonly locations?: readonly Location[];
  /** The name of the batch. */
  readonly batch?: string | undefined;
};

/** The text of a filter of a list. That of a location or a batch has its name. */
export function filterText(
  name: FilterName,
  value: string,
  language: PageLanguage,
  { locations = [], batch }: FilterNames = {},
): string {
  if (name === 'location_id') {
    const { groups, noLocation } = reportTexts[language];
    const found = locations.find(({ id }) => String(id) === value);
    return `${groups.location}: ${found?.name ?? noLocation}`;
  }
  if (isCardField(name)) return fieldFilterText(name, value, language);
  const { filterNames, states, choices } = cardsTexts[language];
  if (name === 'viewed' || name === 'redeemed')
    return fillPlain(filterNames[name], { value: choices[value === 'yes' ? 'yes' : 'no'] });
  if (name === 'email_status')
    return fillPlain(filterNames.email_status, { value: emailTexts[language].stateOf[value as EmailState] });
  if (name === 'batch_id') return fillPlain(filterNames.batch_id, { value: batch ?? value });
  return name === 'state' ? states[value as keyof typeof states] : fillPlain(filterNames[name], { value });
}

const emptyDrawing = markup`<svg viewBox="0 0 88 60" aria-hidden="true"><rect x="3" y="3" width="82" height="54" rx="8"/><path d="M60 3v54M3 28h82"/><path class="knot" d="M60 28c-9-13-17-8-12-3 3 3 8 3 12 3s9 0 12-3c5-5-3-10-12 3zM60 28c-2 5-5 8-8 11M60 28c2 5 5 8 8 11"/></svg>`;

/** Instead of a list without cards. */
export function emptyPanelOf(title: MarkupPart, paragraphs: readonly MarkupPart[]): Markup {
  return markup`<section class="panel empty" role="status">${emptyDrawing}<h2>${title}</h2>${paragraphs.map((each) => (each === undefined ? undefined : markup`<p>${each}</p>`))}</section>`;
}
