/** The form of many cards: what was typed, the cards that it means, and its errors. */

import {
  batchCardsMax,
  batchErrorsMax,
  batchNameLengthMax,
  equalCards,
  parseBatch,
} from '../domain/batch.ts';
import { errorsByLine, parseBatchFile, type LineError } from '../domain/batch-csv.ts';
import { exceeds, formatMoney, type Money } from '../domain/money.ts';
import type { CardToIssue } from '../domain/new-card.ts';
import { parseLine } from '../domain/text.ts';
import { isAbove } from '../domain/store.ts';
import { checkBatch } from '../service/batch.ts';
import { multilineOf } from './card-change.ts';
import { amountText, parseTypedAmount } from './format.ts';
import de from './locales/de/batches.json' with { type: 'json' };
import en from './locales/en/batches.json' with { type: 'json' };
import es from './locales/es/batches.json' with { type: 'json' };
import fr from './locales/fr/batches.json' with { type: 'json' };
import { formText } from './request.ts';
import type { ConsoleServices, StaffRequest } from './route.ts';
import { fillPlain, type Catalogue, type PageLanguage } from './texts.ts';

export const batchTexts: Catalogue<typeof en> = { en, de, fr, es };

const fieldNames = ['kind', 'name', 'count', 'value', 'expires_on', 'note', 'rows'] as const;

type BatchField = (typeof fieldNames)[number];
/** `kind` is `equal` or `file`. */
export type BatchValues = Readonly<Record<BatchField, string>>;
export type BatchFieldErrors = Readonly<Partial<Record<BatchField, string>>>;

export function batchValues(request: StaffRequest): BatchValues {
  const typed = (name: BatchField): string =>
    name === 'rows' || name === 'note' ? multilineOf(request, name) : formText(request, name);
  return Object.fromEntries(fieldNames.map((name) => [name, typed(name)])) as BatchValues;
}

/** The cards of a form, and the lines of the file in which they begin; null: equal cards. */
export type FormCards = {
  readonly name: string | null;
  readonly cards: readonly CardToIssue[];
  readonly total: Money;
  readonly lines: readonly number[] | null;
};

/** An error of the cards as a text. Line 0: of equal cards. */
type ShownError = { readonly line: number; readonly field: string | null; readonly text: string };

export type ReadBatch =
  | { readonly kind: 'cards'; readonly found: FormCards }
  | { readonly kind: 'fields'; readonly errors: BatchFieldErrors }
  | { readonly kind: 'lines'; readonly errors: readonly ShownError[]; readonly errorCount: number };

/** Reads a form, and checks its cards as issuing them does. */
export async function readBatch(
  services: ConsoleServices,
  request: StaffRequest,
  values: BatchValues,
): Promise<ReadBatch> {
  const { errors } = batchTexts[request.language];
  const { store, member } = request.signedIn;
  const name = parseLine(values.name === '' ? null : values.name, batchNameLengthMax);
  if (!name.ok) return { kind: 'fields', errors: { name: errors.name } };
  const read =
    values.kind === 'file' ? fileCards(services, request, values) : equalOnes(services, request, values);
  if (read.kind !== 'cards') return read;
  const { cards, lines } = read.found;
  const { saleLimit } = member;
  const above = saleLimit
    ? cards.flatMap(({ value }, index) =>
        exceeds(value, saleLimit) ? [{ index, field: 'initial_value', message: '' }] : [],
      )
    : [];
  if (lines === null) {
    if (above.length === 0 || !saleLimit)
      return { kind: 'cards', found: { ...read.found, name: name.value } };
    const text = fillPlain(errors.saleLimit, { amount: amountText(saleLimit, request.language) });
    return { kind: 'fields', errors: { value: text } };
  }
  const others = above.length > 0 ? [] : await checkBatch(services, { store, cards });
  const wrong = errorsByLine([...above, ...others], lines);
  if (wrong.length > 0) return lineErrors(request, wrong.slice(0, batchErrorsMax), wrong.length);
  return { kind: 'cards', found: { ...read.found, name: name.value } };
}

function placeOf({ ctx, canSend }: ConsoleServices, { signedIn: { store } }: StaffRequest) {
  return { store, now: ctx.clock.now(), canSend };
}

function fileCards(services: ConsoleServices, request: StaffRequest, { rows }: BatchValues): ReadBatch {
  if (rows === '') return { kind: 'fields', errors: { rows: batchTexts[request.language].errors.rows } };
  const parsed = parseBatchFile(Buffer.from(rows), placeOf(services, request));
  if (!parsed.ok) return lineErrors(request, parsed.errors, parsed.errorCount);
  return { kind: 'cards', found: { ...parsed, name: null } };
}

function equalOnes(services: ConsoleServices, request: StaffRequest, values: BatchValues): ReadBatch {
  const { language, signedIn } = request;
  const { store } = signedIn;
  const { errors: text } = batchTexts[language];
  const count = countOf(values.count);
  const value = parseTypedAmount(values.value, store);
  const limit = store.issueLimit;
  const max = new Intl.NumberFormat(language).format(batchCardsMax);
  const isTooMuch = value.ok && limit !== null && isAbove(limit, value.value);
  const valueError = isTooMuch
    ? fillPlain(text.valueLimit, { amount: amountText(limit, language) })
    : text.value;
  const fields = {
    // An amount with an error of its own.
    initial_value: value.ok && !isTooMuch ? formatMoney(value.value) : '1',
    expires_on: values.expires_on === '' ? null : values.expires_on,
    note: values.note === '' ? null : values.note,
  };
  const parsed = parseBatch([fields], placeOf(services, request));
  const wrong = new Set(parsed.ok ? [] : parsed.errors.map(({ field }) => field));
  const errors: BatchFieldErrors = {
    ...((count === null || count < 1 || count > batchCardsMax) && {
      count: fillPlain(text.count, { count: max }),
    }),
    ...((!value.ok || isTooMuch) && { value: valueError }),
    ...(wrong.has('expires_on') && { expires_on: text.day }),
    ...(wrong.has('note') && { note: text.note }),
  };
  const [card] = parsed.ok ? parsed.cards : [];
  if (Object.keys(errors).length > 0 || count === null) return { kind: 'fields', errors };
  const found = card && equalCards(card, count);
  if (!found) return { kind: 'fields', errors: { value: text.total } };
  return { kind: 'cards', found: { ...found, name: null, lines: null } };
}

const groupedNumber = /^\d{1,3}(?:[\s.,’']\d{3}){1,2}$/;

/** A number as people type it, with separators of thousands. */
export function countOf(text: string): number | null {
  const digits = groupedNumber.test(text) ? text.replaceAll(/\D/g, '') : text;
  return /^\d{1,9}$/.test(digits) ? Number(digits) : null;
}

function lineErrors(
  { language }: Pick<StaffRequest, 'language'>,
  errors: readonly LineError[],
  errorCount: number,
): ReadBatch {
  const shown = errors.map((error) => ({ ...error, text: lineErrorText(error, language) }));
  return { kind: 'lines', errors: shown, errorCount };
}

const textOfField = {
  initial_value: 'initial_value',
  expires_on: 'expires_on',
  email: 'email',
  recipient_email: 'email',
  note: 'text',
  message: 'text',
  sender_name: 'name',
  recipient_name: 'name',
  tags: 'tags',
  send_on: 'send_on',
  notify: 'notify',
  code: 'code',
  storefront_customer_id: 'storefront_customer_id',
  vat_kind: 'vat',
  vat_rate: 'vat',
  currency: 'currency',
} as const satisfies Readonly<Record<string, keyof (typeof en)['lines']>>;

/** The sentence for an error of a line. The services have English messages, which begin with what is wrong. */
export function lineErrorText(
  { line, field, message }: Pick<LineError, 'line' | 'field' | 'message'>,
  language: PageLanguage,
): string {
  const { lines } = batchTexts[language];
  if (field !== null)
    return Object.hasOwn(textOfField, field)
      ? lines[textOfField[field as keyof typeof textOfField]]
      : lines.other;
  if (message.includes('above the limit'))
    return fillPlain(lines.tooMany, { count: new Intl.NumberFormat(language).format(batchCardsMax) });
  if (message.startsWith('must be followed')) return lines.empty;
  if (/ cells/.test(message)) return lines.cells;
  return line === 1 && /column/.test(message) ? lines.header : lines.other;
}
