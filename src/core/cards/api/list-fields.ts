/** The query fields of lists of cards: filters, sort and fields. */

import Type from 'typebox';
import { cardStates, type CardState } from '../domain/state.ts';
import { lastCharactersPattern, parseLastCharacters } from '../domain/code.ts';
import { dayPattern, parseDay } from '../../domain/day.ts';
import { parseEmail, type EmailAddress } from '../../domain/email-address.ts';
import { decimalPattern, parseAmount, type Money } from '../../money/domain/money.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { detailGiftCardSchema, type DetailRecord } from '../domain/schemas.ts';
import { instantOrDayPattern } from '../../emails/domain/send-on.ts';
import { parseTag, tagLengthMax } from '../domain/tags.ts';
import { sentLineLengthMax } from '../../domain/text.ts';
import { parseTimeBound } from '../../domain/time-bound.ts';
import type { PlacesOfEntries } from '../../stores/domain/location.ts';
import { sorts, type SortName } from '../service/filter.ts';
import { detailFilters } from './card-fields.ts';
import { cursor } from '../../../api/cursor.ts';
import { field, integerFromForm, type Field } from '../../../api/field.ts';
import { limit } from '../../../api/list.ts';

export function choice<const T extends string>(
  values: readonly T[],
  description: string,
  example: T,
): Field<T, false> {
  return field<T>(Type.Enum([...values], { description, examples: [example] }), (value): Parsed<T> => {
    const found = values.find((each) => each === value);
    return found === undefined ? rejected(`must be one of: ${values.join(', ')}`) : accepted(found);
  });
}

const timeText =
  'a date in the store’s time zone, or a date and time with `Z` or an offset, in whole seconds. Included.';

function timeBound(what: string, isMax: boolean) {
  return timeField(`Only cards that were ${what}`, isMax);
}

function activityBound(isMax: boolean) {
  const description =
    'Only cards whose last transaction (issue, top-up, redemption, refund or adjustment) was made';
  return timeField(description, isMax);
}

export function timeField(description: string, isMax: boolean): Field<number, false> {
  return field<number>(
    Type.String({
      pattern: instantOrDayPattern,
      description: `${description} at this time or ${isMax ? 'earlier' : 'later'}: ${timeText}${isMax ? ' A date includes the whole day.' : ''}`,
      examples: ['2026-08-15'],
    }),
    (value, { store }) => parseTimeBound(value, { timeZone: store.timeZone, isMax }),
  );
}

function dayBound(description: string) {
  return field<string>(Type.String({ pattern: dayPattern, description, examples: ['2031-12-31'] }), parseDay);
}

function amountBound(description: string) {
  return field<Money>(
    Type.String({ pattern: decimalPattern, description, examples: ['10.00'] }),
    (value, { store }) => parseAmount(value, { currency: store.currency, zeroAllowed: true }),
  );
}

const recordFields = Object.keys(detailGiftCardSchema.properties) as (keyof DetailRecord)[];
/** Longer texts are not split into names. */
const fieldsLengthMax = 2 * recordFields.join(',').length;

const namedFields = field<readonly (keyof DetailRecord)[]>(
  Type.String({
    pattern: '^[a-z_]+(?:,[a-z_]+)*$',
    description:
      'Only these fields of each card, separated by commas, in the order of the record. By default all fields.',
    examples: ['id,balance,state'],
  }),
  (value) => {
    const isShort = typeof value === 'string' && value.length <= fieldsLengthMax;
    const names: readonly string[] = isShort ? value.split(',') : [''];
    const found = recordFields.filter((name) => names.includes(name));
    return names.every((name) => found.some((known) => known === name))
      ? accepted(found)
      : rejected(`must be names of fields, separated by commas: ${recordFields.join(', ')}`);
  },
);

export function idFilter(description: string): Field<number, false> {
  return field<number>(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description, examples: [1001] }),
    (value) =>
      typeof value === 'number' && Number.isSafeInteger(value)
        ? accepted(value)
        : rejected('must be an integer from 1 to 2^53 - 1'),
    integerFromForm,
  );
}

const noLocation = 'none';

/** A location, or `none`: those at no location. */
export function locationFilter(description: string): Field<PlacesOfEntries, false> {
  return field<PlacesOfEntries>(
    Type.Union([Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), Type.Literal(noLocation)], {
      description: `${description}; \`none\`: only those at no location.`,
      examples: [244_212_380_101],
    }),
    (value) => {
      if (value === noLocation) return accepted([null]);
      return typeof value === 'number' && Number.isSafeInteger(value)
        ? accepted([value])
        : rejected(`must be the id of a location, or ${noLocation}`);
    },
    integerFromForm,
  );
}

/** The filters of cards, without the customer. */
export const cardFilters = {
  state: choice<CardState>(cardStates, 'Only cards in this state.', 'active'),
  email_status: choice(
    ['bounced', 'dead'],
    'Only cards whose newest email with the code was not delivered: `bounced` (rejected permanently), or `dead` (not accepted in 72 hours).',
    'bounced',
  ),
  created_at_min: timeBound('issued', false),
  created_at_max: timeBound('issued', true),
  disabled_at_min: timeBound('disabled', false),
  disabled_at_max: timeBound('disabled', true),
  last_activity_at_min: activityBound(false),
  last_activity_at_max: activityBound(true),
  expires_on_min: dayBound('Only cards whose last valid day is this day or later.'),
  expires_on_max: dayBound('Only cards whose last valid day is this day or earlier.'),
  balance_min: amountBound('Only cards with this balance or more.'),
  balance_max: amountBound('Only cards with this balance or less.'),
  order_id: idFilter('Only cards that were sold with this order.'),
  batch_id: idFilter('Only cards that this batch issued.'),
  last_characters: field<string>(
    Type.String({
      pattern: lastCharactersPattern,
      description: 'Only cards whose code ends with these 4 characters, case-insensitive.',
      examples: ['7f3k'],
    }),
    parseLastCharacters,
  ),
  ...detailFilters,
  tag: field<string>(
    Type.String({
      minLength: 1,
      maxLength: sentLineLengthMax(tagLengthMax),
      description: 'Only cards with this tag. The letters A to Z are compared without regard to case.',
      examples: ['VIP'],
    }),
    parseTag,
  ),
};

export const customerEmail = field<EmailAddress>(
  Type.String({
    minLength: 1,
    description: 'Only cards whose customer or recipient has this email address.',
    examples: ['grace@example.com'],
  }),
  parseEmail,
);

/** The order, size and content of a page of cards. */
export const cardPage = {
  sort: choice(
    Object.keys(sorts) as SortName[],
    'The order of the cards; with `-`, descending. `-created_at` by default: newest first. `expires_on`: cards that never expire are last in both directions. `balance`: only if the filters `email`, `order_id`, `email_status`, `disabled_at_…`, `expires_on_…` or `state=scheduled` leave at most 2,000 cards, or `created_at_…` at most 10,000, before the other filters apply: the service has no index of balances, because it would make every movement slower. Every store with at most 10,000 cards can sort by it.',
    '-created_at',
  ),
  limit,
  cursor,
  fields: namedFields,
};
