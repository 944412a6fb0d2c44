/** A new gift card: the fields of its creation, in requests and in files, and what they mean together. */

import { detailsOf, fieldFromText, readField } from './field-values.ts';
import { byField, createdFields, type CardDetails, type CardFieldName } from './fields.ts';
import { readNewCode, type ChosenCode } from './given-code.ts';
import { findCurrency } from '../../money/domain/currency.ts';
import { dayOf, parseDay } from '../../domain/day.ts';
import { parseEmail, type EmailAddress } from '../../domain/email-address.ts';
import { parseAmount, type Money } from '../../money/domain/money.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { parseSendOn, type SendOn } from '../../emails/domain/send-on.ts';
import { aboveLimit, isAbove, type Store } from '../../stores/domain/store.ts';
import { parseVatRate, vatKinds, type Vat, type VatKind } from '../../money/domain/vat.ts';

type Place = {
  readonly store: Store;
  /** Instant in ms. */
  readonly now: number;
  /** Whether an earlier request can have sent it: limits of the store and of the time do not apply. Default: false. */
  readonly isRepetition?: boolean;
};

type Read<T> = (value: unknown, place: Place) => Parsed<T>;

/** Accepts null, and parses any other value with the given parser. */
export function orNull<T, P>(
  read: (value: unknown, place: P) => Parsed<T>,
): (value: unknown, place: P) => Parsed<T | null> {
  return (value, place) => (value === null ? accepted(null) : read(value, place));
}

export function parseFlag(value: unknown): Parsed<boolean> {
  return typeof value === 'boolean' ? accepted(value) : rejected('must be true or false');
}

export function parseId(value: unknown): Parsed<number> {
  const isId = typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
  return isId ? accepted(value) : rejected('must be an integer from 1 to 2^53 - 1');
}

const initialValue: Read<Money> = (value, { store, isRepetition = false }) => {
  if (value === null) return rejected('is required');
  const amount = parseAmount(value, { currency: store.currency, zeroAllowed: false });
  return amount.ok && !isRepetition && isAbove(store.issueLimit, amount.value)
    ? rejected(aboveLimit(store.issueLimit))
    : amount;
};

const expiresOn: Read<string | null> = orNull(
  (value, { store, now, isRepetition = false }: Place): Parsed<string> => {
    const parsed = parseDay(value);
    if (isRepetition) return parsed;
    return parsed.ok && parsed.value < dayOf(now, store.timeZone)
      ? rejected('must be today or later')
      : parsed;
  },
);

const sendOn: Read<SendOn | null> = orNull((value, { store, now, isRepetition = false }: Place) =>
  parseSendOn(value, { now, timeZone: store.timeZone, isRepetition }),
);

const vatKind: Read<VatKind | null> = orNull((value: unknown) => {
  const kind = vatKinds.find((known) => known === value);
  return kind ? accepted(kind) : rejected(`must be ${vatKinds.join(' or ')}`);
});

const currency: Read<null> = (value, { store }) => {
  const { code: own } = store.currency;
  if (value === null || value === own) return accepted(null);
  return typeof value === 'string' && findCurrency(value)
    ? rejected(`must be ${own}, the store’s currency`)
    : rejected(`must be an ISO 4217 currency code in upper case: ${own}, the store’s currency`);
};

const { expires_on: _, ...details } = byField(
  createdFields,
  (name): Read<string | null> =>
    (value) =>
      readField(name, value),
);
const address: Read<EmailAddress | null> = orNull(parseEmail);

/** The parsers of all fields. Only `initial_value` is required. */
export const newCardFields = {
  initial_value: initialValue,
  expires_on: expiresOn,
  email: address,
  recipient_email: address,
  ...details,
  send_on: sendOn,
  notify: orNull(parseFlag) as Read<boolean | null>,
  suspend: orNull(parseFlag) as Read<boolean | null>,
  code: orNull(readNewCode) as Read<ChosenCode | null>,
  storefront_customer_id: orNull(parseId) as Read<number | null>,
  vat_kind: vatKind,
  vat_rate: orNull(parseVatRate) as Read<string | null>,
  currency,
} as const satisfies Readonly<Record<CardFieldName, Read<string | null>> & Record<string, Read<unknown>>>;

export type NewCardField = keyof typeof newCardFields;

export const newCardFieldNames = Object.keys(newCardFields) as readonly NewCardField[];

type ValueOf<R> = R extends Read<infer T> ? T : never;

/** The parsed fields of a new card. */
export type NewCardValues = { readonly [K in NewCardField]?: ValueOf<(typeof newCardFields)[K]> };

const flags: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

/** The boolean of a text in a form or file; the text itself if it is not one. */
export function flagFromText(sent: string): unknown {
  return flags.get(sent) ?? sent;
}

const integerText = /^[1-9][0-9]{0,15}$/;

/** The integer of a text in a form or file: digits, the first of them not 0. */
export function integerFromText(sent: string): unknown {
  return integerText.test(sent) ? Number(sent) : sent;
}

/** The values of texts in a file, for the fields that are not texts. */
export const newCardFromText: Readonly<Partial<Record<NewCardField, (text: string) => unknown>>> = {
  ...byField(createdFields, (name) => (text: string) => fieldFromText(name, text)),
  notify: flagFromText,
  suspend: flagFromText,
  storefront_customer_id: integerFromText,
};

/** A card to issue, whose fields are valid. */
export type CardToIssue = {
  readonly value: Money;
  readonly details: CardDetails;
  readonly customer: EmailAddress | null;
  readonly storefrontCustomerId: number | null;
  readonly recipient: EmailAddress | null;
  /** The code that the store chose; null: a random one. */
  readonly code: ChosenCode | null;
  /** Absent: the store's. */
  readonly vat?: Vat | null;
  /** Absent: the card is not emailed. */
  readonly emails?: { readonly sendAt: number | null };
  /** Whether it is suspended until it is resumed; absent: no. */
  readonly isSuspended?: boolean;
};

type Sending = {
  /** Whether the service sends email. */
  readonly canSend: boolean;
};

export function isEmailWanted({ notify }: NewCardValues): boolean {
  return notify ?? true;
}

/** The address that a new card is emailed to. */
export function emailedTo({ email, recipient_email: recipient }: NewCardValues): EmailAddress | null {
  return recipient ?? email ?? null;
}

type FieldError = readonly [field: NewCardField, message: string];

/**
 * The errors that concern several fields.
 * @param hasError whether a field has an error of its own.
 */
export function newCardErrors(
  values: NewCardValues,
  { canSend }: Sending,
  hasError: (field: NewCardField) => boolean,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  const message = sendOnError(values, canSend);
  if (message !== null) errors.push(['send_on', message]);
  const vatError = vatRateError(values);
  if (vatError !== null && !hasError('vat_kind') && !hasError('vat_rate'))
    errors.push(['vat_rate', vatError]);
  const { email, storefront_customer_id: storefrontId } = values;
  if ((storefrontId ?? null) !== null && !email && !hasError('email'))
    errors.push(['storefront_customer_id', 'cannot be set without email']);
  return errors;
}

function vatRateError({ vat_kind: kind, vat_rate: rate = null }: NewCardValues): string | null {
  if (kind === 'single_purpose') return rate === null ? 'is required with vat_kind single_purpose' : null;
  return rate === null ? null : 'cannot be set without vat_kind single_purpose';
}

/** The error if the card cannot be emailed at the requested time; otherwise null. */
function sendOnError(values: NewCardValues, canSend: boolean): string | null {
  const { send_on: sent, expires_on: expires } = values;
  if (!sent) return null;
  if (!isEmailWanted(values) || !canSend) return 'cannot be set because no email is sent';
  if (!emailedTo(values)) return 'cannot be set without recipient_email or email';
  return expires && sent.day > expires ? 'must not be after expires_on' : null;
}

/** The card of valid fields. */
export function newCardOf(
  values: NewCardValues & { readonly initial_value: Money },
  { canSend }: Sending,
): CardToIssue {
  return {
    value: values.initial_value,
    details: detailsOf(values),
    customer: values.email ?? null,
    storefrontCustomerId: values.storefront_customer_id ?? null,
    recipient: values.recipient_email ?? null,
    code: values.code ?? null,
    ...vatIn(values),
    ...(isEmailWanted(values) && canSend && { emails: { sendAt: values.send_on?.at ?? null } }),
    ...(values.suspend === true && { isSuspended: true }),
  };
}

/** The VAT that a creation sets; nothing: the store's default applies. */
function vatIn({ vat_kind: kind, vat_rate: rate }: NewCardValues): { readonly vat?: Vat | null } {
  if (kind === undefined) return {};
  if (kind !== 'single_purpose') return { vat: kind && { kind } };
  return { vat: { kind, rate: rate ?? '0' } };
}
