/** The form of the buy page as it was typed, and the sale that it asks for. */

import { parseDesign } from '../../../../core/cards/domain/design.ts';
import { addDays, dayOf, parseDay } from '../../../../core/domain/day.ts';
import { emailLengthMax, parseEmail, type EmailAddress } from '../../../../core/domain/email-address.ts';
import type { Money } from '../../../../core/money/domain/money.ts';
import { formErrors, sendAheadDays, type FormField } from '../../domain/rules.ts';
import { formLengths, isForBuyer, type OnlineSale, type SaleForm } from '../../domain/sale.ts';
import { parseLine, parseText } from '../../../../core/domain/text.ts';
import { accepted, rejected, type Parsed } from '../../../../platform/parsed.ts';
import { amountText, dayText, parseTypedAmount } from '../../../../pages/kit/format.ts';
import { formText, type ConsoleRequest } from '../../../../pages/kit/request.ts';
import { fillPlain } from '../../../../pages/kit/texts.ts';
import type { BuyPlace } from './place.ts';

const fields = [
  'design',
  'amount',
  'own',
  'for',
  'to',
  'from',
  'message',
  'when',
  'email',
  'day',
  'buyer_email',
] as const;

export type BuyField = (typeof fields)[number];

export type TypedForm = Readonly<Record<BuyField, string>>;

export type BuyErrors = Partial<Readonly<Record<BuyField, string>>>;

/** The value of the choice of an own amount. */
export const ownAmount = 'own';

/** Characters of a field that are kept when the form is shown again. */
const keptLengthMax = 4 * formLengths.message;

/** The first values of a form. */
export function newForm({ buy: { page }, design, store }: BuyPlace, now: number): TypedForm {
  const preset = page.presets[1] ?? page.presets[0];
  return {
    design,
    amount: preset ? String(preset.minor) : ownAmount,
    own: '',
    for: 'other',
    to: '',
    from: '',
    message: '',
    when: 'now',
    email: '',
    day: addDays(dayOf(now, store.timeZone), 1),
    buyer_email: '',
  };
}

/** The form of a sale that was not paid. */
export function formOfSale(place: BuyPlace, sale: OnlineSale, now: number): TypedForm {
  const { language, buy } = place;
  const isPreset = buy.page.presets.some(({ minor }) => minor === sale.amount.minor);
  const first = newForm(place, now);
  const byEmail = sale.sendOn === null ? 'now' : 'day';
  return {
    design: sale.design,
    amount: isPreset ? String(sale.amount.minor) : ownAmount,
    own: isPreset ? '' : amountText(sale.amount, language.locale),
    for: isForBuyer(sale) ? 'me' : 'other',
    to: sale.recipientName ?? '',
    from: sale.senderName ?? '',
    message: sale.message ?? '',
    when: sale.delivery === 'self' ? 'self' : byEmail,
    email: sale.recipientAddress ?? '',
    day: sale.sendOn ?? first.day,
    buyer_email: sale.buyerAddress ?? '',
  };
}

export function typedForm(request: Pick<ConsoleRequest, 'form'>): TypedForm {
  const entries = fields.map((name) => [name, formText(request, name).slice(0, keptLengthMax)]);
  return Object.fromEntries(entries) as Record<BuyField, string>;
}

/** The amount of the chosen preset, or the typed one. */
export function typedAmount(
  { buy: { page }, store, language }: BuyPlace,
  { amount, own }: Pick<TypedForm, 'amount' | 'own'>,
): Parsed<Money> {
  if (amount === ownAmount) return parseTypedAmount(own, store, { language: language.locale });
  const preset = page.presets.find(({ minor }) => String(minor) === amount);
  return preset ? accepted(preset) : rejected('is not one of the amounts');
}

/** The days on which a card can be sent: from tomorrow, because today it is sent at once. */
export function sendingDays(
  { store }: Pick<BuyPlace, 'store'>,
  now: number,
): { readonly from: string; readonly to: string } {
  const today = dayOf(now, store.timeZone);
  return { from: addDays(today, 1), to: addDays(today, sendAheadDays) };
}

/** The field of the page at which an error of a rule is shown. */
const fieldOf: Readonly<Record<FormField, BuyField>> = {
  amount: 'amount',
  buyer_name: 'from',
  recipient_name: 'to',
  recipient: 'email',
  sender_name: 'from',
  message: 'message',
  send_on: 'day',
};

/** Collects the errors of a form while its fields are parsed. */
class Reading {
  readonly errors: Partial<Record<BuyField, string>> = {};

  /** The value; null after an error, which is that of the field. */
  take<Value>(field: BuyField, parsed: Parsed<Value>, error: string): Value | null {
    if (!parsed.ok) this.errors[field] ??= error;
    return parsed.ok ? parsed.value : null;
  }
}

/** Parses what was typed. Fields that the page does not show for the choices are ignored. */
export function readForm(
  place: BuyPlace,
  typed: TypedForm,
  now: number,
): { readonly form: SaleForm } | { readonly errors: BuyErrors } {
  const { texts } = place;
  const reading = new Reading();
  const choice = <Value extends string>(field: BuyField, values: readonly Value[]): Value | null => {
    const found = values.find((value) => value === typed[field]);
    return reading.take(field, found === undefined ? rejected('') : accepted(found), texts.choiceError);
  };
  const design = reading.take('design', parseDesign(typed.design), texts.choiceError);
  const amount = reading.take('amount', typedAmount(place, typed), amountError(place));
  const receiver = choice('for', ['other', 'me'] as const);
  const buyer = addressIn(reading, place, 'buyer_email', typed.buyer_email);
  const gift = receiver === 'me' ? forMe : readGift(reading, place, typed, choice);
  if (design === null || amount === null || receiver === null || buyer === null || gift === null)
    return { errors: reading.errors };
  const form = { amount, design, buyer, buyerName: gift.senderName, ...gift };
  for (const { field, reason } of formErrors(form, place.buy.page, dayOf(now, place.store.timeZone)))
    reading.errors[fieldOf[field]] ??= ruleError(place, field, reason, now);
  return Object.keys(reading.errors).length > 0 ? { errors: reading.errors } : { form };
}

type Gift = Pick<SaleForm, 'delivery' | 'recipientName' | 'recipient' | 'senderName' | 'message' | 'sendOn'>;

const forMe: Gift = {
  delivery: 'self',
  recipientName: null,
  recipient: null,
  senderName: null,
  message: null,
  sendOn: null,
};

function readGift(
  reading: Reading,
  place: BuyPlace,
  typed: TypedForm,
  choice: (field: BuyField, values: readonly ['now', 'day', 'self']) => 'now' | 'day' | 'self' | null,
): Gift | null {
  const { texts } = place;
  const lengthError = fillPlain(texts.lengthError, { max: formLengths.message });
  const recipientName = nameIn(reading, place, 'to', typed.to);
  const senderName = nameIn(reading, place, 'from', typed.from);
  const text = parseText(typed.message.replaceAll('\r\n', '\n'), formLengths.message);
  const message = reading.take('message', text, lengthError);
  const when = choice('when', ['now', 'day', 'self']);
  const given = { recipientName, senderName, message };
  if (when === 'self') return { ...given, delivery: 'self', recipient: null, sendOn: null };
  const recipient = addressIn(reading, place, 'email', typed.email);
  const day = parseDay(typed.day);
  const sendOn = when === 'day' && day.ok ? day.value : null;
  if (when === 'day' && !day.ok) reading.errors.day = texts.choiceError;
  return when === null ? null : { ...given, delivery: 'email', recipient, sendOn };
}

function nameIn(reading: Reading, { texts }: BuyPlace, field: BuyField, typed: string): string | null {
  const name = parseLine(typed, formLengths.name);
  const parsed: Parsed<string> =
    name.ok && name.value !== null ? accepted(name.value) : rejected('is not a name');
  return reading.take(field, parsed, fillPlain(texts.nameError, { max: formLengths.name }));
}

function addressIn(
  reading: Reading,
  { texts }: BuyPlace,
  field: BuyField,
  typed: string,
): EmailAddress | null {
  const parsed = typed.length > 4 * emailLengthMax ? rejected('is too long') : parseEmail(typed);
  return reading.take(field, parsed, texts.addressError);
}

function amountError({ buy: { page }, language: { locale }, texts }: BuyPlace): string {
  const [min, max] = [amountText(page.min, locale), amountText(page.max, locale)];
  return fillPlain(texts.amountError, { min, max });
}

function ruleError(place: BuyPlace, field: FormField, reason: string, now: number): string {
  const { texts, language } = place;
  if (reason === 'link') return texts.linkError;
  if (reason === 'number') return texts.numberError;
  switch (field) {
    case 'amount':
      return amountError(place);
    case 'message':
      return fillPlain(texts.lengthError, { max: formLengths.message });
    case 'recipient':
      return texts.addressError;
    case 'send_on': {
      const { from, to } = sendingDays(place, now);
      return fillPlain(texts.dayError, {
        from: dayText(from, language.locale, 'long'),
        to: dayText(to, language.locale, 'long'),
      });
    }
    case 'buyer_name':
    case 'recipient_name':
    case 'sender_name':
      return fillPlain(texts.nameError, { max: formLengths.name });
  }
}

/** Whether a sale is the one that a form asks for. Another form with its key changes nothing of it. */
export function isSaleOf(form: SaleForm, sale: OnlineSale): boolean {
  const same: readonly (readonly [unknown, unknown])[] = [
    [form.amount.minor, sale.amount.minor],
    [form.design, sale.design],
    [form.buyer.address, sale.buyerAddress],
    [form.delivery, sale.delivery],
    [form.recipientName, sale.recipientName],
    [form.recipient?.address ?? null, sale.recipientAddress],
    [form.senderName, sale.senderName],
    [form.message, sale.message],
    [form.sendOn, sale.sendOn],
  ];
  return same.every(([one, other]) => one === other);
}
