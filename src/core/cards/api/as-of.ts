/** `as_of`: what something was at an instant in the past. */

import Type from 'typebox';
import { asOfPattern, parseAsOf } from '../domain/as-of.ts';
import { formatInstant } from '../../domain/day.ts';
import type { PastCard, PastCards } from '../service/past-card.ts';
import { field } from '../../../api/field.ts';

export const asOf = field<number>(
  Type.String({
    pattern: asOfPattern,
    description:
      'A date and time with seconds, and `Z` or an offset, such as `2026-08-15T12:37:38Z`. The response is what it was then, with everything of that second; fractions of a second are compared to the millisecond. Entries of one card are included in the order in which they were made, even if the clocks of servers differed. A time in the future is rejected. The state in the last seconds can still change: a request that is in progress can have an earlier time.',
    examples: ['2026-08-15T12:37:38Z'],
  }),
  (value, { now }) => parseAsOf(value, now),
);

/** The header of a response with cards that can have been changed after the instant without a record. */
export function recordedFromHeader(
  cards: readonly PastCard[],
  { recordedFrom }: Pick<PastCards, 'recordedFrom'>,
): { readonly 'recorded-from'?: string } {
  return cards.every(({ isComplete }) => isComplete) ? {} : { 'recorded-from': formatInstant(recordedFrom) };
}
