/** The form of a new card: what was typed, and what it means. */

import { detailsOf } from '../../../core/cards/domain/field-values.ts';
import {
  byField,
  cardFieldNames,
  cardFields,
  isCardField,
  type CardFieldName,
} from '../../../core/cards/domain/fields.ts';
import { dayOf, parseDay } from '../../../core/domain/day.ts';
import { parseEmail, type EmailAddress } from '../../../core/domain/email-address.ts';
import { formatMoney, parseAmount, type Money } from '../../../core/money/domain/money.ts';
import { parseSendOn } from '../../../core/emails/domain/send-on.ts';
import { isAbove, type Store } from '../../../core/stores/domain/store.ts';
import { parseText } from '../../../core/domain/text.ts';
import type { Offer } from '../../till/service/usual-amounts.ts';
import type { NewCard } from '../../till/service/sale.ts';
import { fieldError, otherFields, readTyped } from './fields.ts';
import { multilineOf, unreadableAmount } from './change-form.ts';
import { amountText, parseTypedAmount } from '../../../pages/kit/format.ts';
import type { StaffRequest } from '../../../pages/kit/route.ts';
import { fillPlain, textsOf } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

const issueTexts = textsOf('issue');

/** The names of the fields, and what is typed in a new form. */
const newValues = {
  /** The decimal form of a usual amount, or `other`. */
  amount: '',
  other: '',
  /** `never`, a number of years, or `date`. */
  expires: 'never',
  ...byField(cardFieldNames, () => ''),
  recipient_email: '',
  email: '',
  /** `email` or `print`. */
  how: 'print',
  /** `now` or `later`. */
  when: 'now',
  date: '',
  time: '',
};

export type IssueField = keyof typeof newValues;
export type IssueValues = Readonly<Record<IssueField, string>>;
export type Errors = Readonly<Partial<Record<IssueField, string>>>;

export const expiryYears: readonly number[] = [1, 2, 3, 5];

/** A message on a printed card has room for this many characters. */
export const messageLengthMax = 500;

/** The amount that is chosen in a new form: the decimal form of the middle one, or `other`. */
export function middleAmount({ usual }: Pick<Offer, 'usual'>): string {
  const [middle] = usual.slice(Math.floor(usual.length / 2));
  return middle ? formatMoney(middle) : 'other';
}

export function emptyForm({ canSend, design }: Pick<Offer, 'canSend' | 'design'>): IssueValues {
  return { ...newValues, design, how: canSend ? 'email' : 'print', time: '09:00' };
}

export function typedValues(page: Page): IssueValues {
  const names = Object.keys(newValues) as IssueField[];
  return Object.fromEntries(
    names.map((name) => [
      name,
      isCardField(name) && cardFields[name].kind === 'text' ? multilineOf(page, name) : page.typed(name),
    ]),
  ) as IssueValues;
}

type Place = {
  readonly store: Store;
  readonly language: StaffRequest['language'];
  /** Instant in ms. */
  readonly now: number;
  /** Whether the store and the service send emails. */
  readonly canSend: boolean;
};

/** Parses a form into a card, or into the messages at its fields. */
export function parseForm(
  values: IssueValues,
  place: Place,
): { readonly card: NewCard } | { readonly errors: Errors } {
  const { store, language, now, canSend } = place;
  const { errors: messages } = issueTexts[language];
  const errors: Partial<Record<IssueField, string>> = {};
  const read = (name: CardFieldName): string | null => {
    const parsed = readTyped(name, values[name]);
    if (!parsed.ok) errors[name] = fieldError(name, language);
    return parsed.ok ? parsed.value : null;
  };
  const address = (name: 'recipient_email' | 'email'): EmailAddress | null => {
    if (values[name] === '') return null;
    const parsed = parseEmail(values[name]);
    if (!parsed.ok) errors[name] = messages.email;
    return parsed.ok ? parsed.value : null;
  };
  const readMessage = (): string | null => {
    const parsed = parseText(values.message, messageLengthMax);
    if (!parsed.ok) errors.message = messages.message;
    return parsed.ok ? parsed.value : null;
  };
  const value = parseValue(values, place, errors);
  const expiresOn = parseExpiry(values, place, errors);
  const typed: Readonly<Record<CardFieldName, string | null>> = {
    ...byField(['recipient_name', 'sender_name', 'note', 'design', ...otherFields], read),
    expires_on: expiresOn,
    message: readMessage(),
    tags: null,
    external_id: null,
  };
  const [recipient, customer] = [address('recipient_email'), address('email')];
  const isEmailed = canSend && values.how === 'email';
  if (isEmailed && values.recipient_email === '' && values.email === '')
    errors.recipient_email = messages.noRecipient;
  const send = isEmailed && values.when === 'later' ? parseSending(values, { store, now }) : null;
  if (send && !send.ok) errors.date = messages.date;
  else if (send && expiresOn !== null && send.value.day > expiresOn) errors.date = messages.afterExpiry;
  if (!value || Object.keys(errors).length > 0) return { errors };
  const sendAt = send?.ok === true ? send.value.at : null;
  return { card: { value, details: detailsOf(typed), customer, recipient, isEmailed, sendAt } };
}

function parseValue(
  { amount, other }: IssueValues,
  { store, language }: Place,
  errors: Partial<Record<IssueField, string>>,
): Money | undefined {
  const isOther = amount === 'other';
  const typed = isOther ? other : amount;
  const field = isOther ? 'other' : 'amount';
  const parsed = isOther
    ? parseTypedAmount(typed, store, { language })
    : parseAmount(typed, { currency: store.currency, zeroAllowed: false });
  if (!parsed.ok) {
    errors[field] = unreadableAmount(typed, store, { language });
    return undefined;
  }
  if (isAbove(store.issueLimit, parsed.value))
    errors[field] = fillPlain(issueTexts[language].errors.storeLimit, {
      amount: amountText(store.issueLimit, language),
    });
  return parsed.value;
}

function parseExpiry(
  { expires, expires_on: typed }: IssueValues,
  { store, language, now }: Place,
  errors: Partial<Record<IssueField, string>>,
): string | null {
  const today = dayOf(now, store.timeZone);
  const years = Number(expires);
  if (expiryYears.includes(years)) return Temporal.PlainDate.from(today).add({ years }).toString();
  if (expires !== 'date') return null;
  const day = parseDay(typed);
  if (day.ok && day.value >= today) return day.value;
  errors.expires_on = issueTexts[language].errors.expiry;
  return null;
}

/** The time of the email: a local time of the store. A time that a clock change skips is later by the gap. */
function parseSending({ date, time }: IssueValues, { store, now }: Pick<Place, 'store' | 'now'>) {
  const { timeZone } = store;
  const day = parseDay(date);
  if (!day.ok || !/^(?:[01]\d|2[0-3]):[0-5]\d$/.test(time))
    return day.ok ? parseSendOn('', { now, timeZone }) : day;
  const instant = Temporal.PlainDateTime.from(`${day.value}T${time}`).toZonedDateTime(timeZone).toInstant();
  return parseSendOn(instant.toString(), { now, timeZone });
}
