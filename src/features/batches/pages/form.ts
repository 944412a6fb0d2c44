/** The form of many cards: what was typed, the cards that it means, and its errors. */

import {
  batchCardsMax,
  batchErrorsMax,
  batchNameLengthMax,
  equalCards,
  parseBatch,
  type BatchError,
} from '../domain/batch.ts';
import { columnNames, type FileColumn } from '../domain/column-names.ts';
import { unknownColumn, type ReadColumns } from '../domain/columns.ts';
import {
  errorsByLine,
  parseBatchFile,
  shortenedNumber,
  type FileReader,
  type LineError,
} from '../domain/table.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { parseDesign } from '../../../core/cards/domain/design.ts';
import { isCardField, type CardFieldName } from '../../../core/cards/domain/fields.ts';
import { exceeds, formatMoney, type Money } from '../../../core/money/domain/money.ts';
import type { CardToIssue, NewCardField } from '../../../core/cards/domain/new-card.ts';
import { resultOf, stepLength, type Paused } from '../../../core/domain/paused.ts';
import {
  cellsMax,
  fileTooLarge,
  linesMax,
  lineTooLong,
  notText,
  rowLengthMax,
  tooManyLines,
  tooMuchWork,
  withLineFeeds,
} from '../../../core/tables/domain/table-text.ts';
import { parseLine } from '../../../core/domain/text.ts';
import { ambiguousAmount } from '../../../core/tables/domain/written-amount.ts';
import { ambiguousDay } from '../../../core/domain/written-day.ts';
import { isAbove } from '../../../core/stores/domain/store.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { checkBatch, countChosenCodes } from '../service/batch.ts';
import { withPauses } from '../service/table-turns.ts';
import { lookupsPerHour } from '../../../core/staff/service/lookup.ts';
import { recordBatchCheck } from '../service/staff-batch.ts';
import { lineError } from '../../card-pages/pages/fields.ts';
import { multilineOf } from '../../card-pages/pages/change-form.ts';
import { newCodeErrorText } from '../../../pages/kit/code-errors.ts';
import { hidden } from '../../../pages/kit/form.ts';
import { parseTypedAmount } from '../../../pages/kit/format.ts';
import { checkCodes, searcherOf } from '../../../pages/kit/lookups.ts';
import { fillPlain, type PageLanguage, type Texts, textsOf } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

export const batchTexts = textsOf('batches');
const newCodeTexts = textsOf('newCodes');

const fieldNames = [
  'kind',
  'name',
  'count',
  'value',
  'expires_on',
  'note',
  // The design of equal cards, and of cards of a file without one of their own.
  'design',
  'rows',
  // The lines of the file that are not issued, between commas, and whether repeated people were seen.
  'left_out',
  'seen',
  // The columns of the file, between commas; empty: nothing is decided. Whether the first line is a card.
  'columns',
  'headless',
  // The notations that were chosen: the decimal sign, and the order of days and months.
  'numbers',
  'days',
  // The digest of the file as it was chosen, and the name of its sheet.
  'digest',
  'sheet',
] as const;

type BatchField = (typeof fieldNames)[number];
/** `kind` is `equal` or `file`, `seen` and `headless` are empty or `yes`. */
export type BatchValues = Readonly<Record<BatchField, string>>;
export type BatchFieldErrors = Readonly<Partial<Record<BatchField, string>>>;

export async function batchValues(page: Page): Promise<BatchValues> {
  // The lines of the file are counted, so no blank one is removed.
  const rows = await withPauses(withLineFeeds(page.request.form.get('rows') ?? ''));
  const typed = (name: BatchField): string => {
    if (name === 'rows') return rows;
    return name === 'note' ? multilineOf(page, name) : page.typed(name);
  };
  return Object.fromEntries(fieldNames.map((name) => [name, typed(name)])) as BatchValues;
}

/** A text that can be as long as a file, for a page. */
export async function longText(text: string): Promise<Markup> {
  return await withPauses(escapedInSteps(text));
}

function* escapedInSteps(text: string): Paused<Markup> {
  const parts: Markup[] = [];
  for (let at = 0; at < text.length; at += stepLength) {
    parts.push(markup`${text.slice(at, at + stepLength)}`);
    yield;
  }
  return markup`${parts}`;
}

/** The values as hidden fields of a form. */
export async function hiddenValues(values: Partial<BatchValues>): Promise<readonly Markup[]> {
  const fields: Markup[] = [];
  for (const [name, value] of Object.entries(values))
    fields.push(hidden(name, name === 'rows' ? await longText(value) : value));
  return fields;
}

/** The cards of a form, and the lines of the file in which they begin; null: equal cards. */
export type FormCards = {
  readonly name: string | null;
  readonly cards: readonly CardToIssue[];
  readonly total: Money;
  readonly lines: readonly number[] | null;
};

/** An error of a line as a sentence of the page. */
export type ShownError = Pick<LineError, 'line' | 'field'> & { readonly text: string };

export type ReadBatch =
  | { readonly kind: 'cards'; readonly found: FormCards }
  /** Too few lookups are left for the codes. */
  | { readonly kind: 'throttled'; readonly fault: Fault }
  | { readonly kind: 'fields'; readonly errors: BatchFieldErrors }
  | {
      readonly kind: 'lines';
      readonly errors: readonly ShownError[];
      readonly errorCount: number;
      /** The lines that can be left out, and the number of all lines. */
      readonly badLines: readonly number[];
      readonly lineCount: number;
    };

/** Reads a form, and checks its cards as issuing them does. */
export async function readBatch(page: Page, values: BatchValues): Promise<ReadBatch> {
  const { errors } = page.text.batches;
  const name = parseLine(values.name === '' ? null : values.name, batchNameLengthMax);
  if (!name.ok) return { kind: 'fields', errors: { name: errors.name } };
  const read = values.kind === 'file' ? await fileCards(page, values) : equalOnes(page, values);
  if (read.kind !== 'cards') return read;
  const { cards, lines } = read.found;
  const { saleLimit } = page.member;
  const above = saleLimit
    ? cards.flatMap(({ value }, index) =>
        exceeds(value, saleLimit) ? [{ index, field: 'initial_value', message: '' }] : [],
      )
    : [];
  if (lines === null) {
    if (above.length === 0 || !saleLimit)
      return { kind: 'cards', found: { ...read.found, name: name.value } };
    const text = fillPlain(errors.saleLimit, { amount: page.amount(saleLimit) });
    return { kind: 'fields', errors: { value: text } };
  }
  const others = above.length > 0 ? [] : await checkWithinBudget(page, cards);
  if ('kind' in others) return others;
  const wrong = errorsByLine([...above, ...others], lines);
  if (wrong.length > 0)
    return lineErrors(page, {
      errors: wrong.slice(0, batchErrorsMax),
      errorCount: wrong.length,
      badLines: [...new Set(wrong.map(({ line }) => line))],
      lineCount: cards.length,
    });
  return { kind: 'cards', found: { ...read.found, name: name.value } };
}

/** Checks the cards within the budget of failed searches. A check with codes is in the audit log. */
async function checkWithinBudget(
  page: Page,
  cards: readonly CardToIssue[],
): Promise<readonly BatchError[] | Extract<ReadBatch, { readonly kind: 'fields' | 'throttled' }>> {
  const codes = countChosenCodes(cards);
  const max = lookupsPerHour(searcherOf(page.services, page.request));
  if (codes > max) {
    const count = new Intl.NumberFormat(page.language).format(max);
    return { kind: 'fields', errors: { rows: fillPlain(page.text.batches.errors.codes, { count }) } };
  }
  const record = () => recordBatchCheck(page.ctx, page.by, codes);
  try {
    return await checkCodes(page.services, page.request, { count: codes, record }, async () => {
      const result = await checkBatch(page.services, { store: page.store, cards });
      return { result, taken: result.filter(({ field }) => field === 'code').length };
    });
  } catch (error) {
    if (error instanceof Fault && error.code === 'too-many-misses')
      return { kind: 'throttled', fault: error };
    throw error;
  }
}

function placeOf(page: Page) {
  return { store: page.store, now: page.ctx.clock.now(), canSend: page.services.canSend };
}

/** The lines that are not issued. */
export function leftOutOf({ left_out: lines }: BatchValues): ReadonlySet<number> {
  return new Set(
    lines
      .split(',', batchCardsMax)
      .map(Number)
      .filter((line) => Number.isSafeInteger(line) && line > 0),
  );
}

/** In place of a column that is not read. */
const leftOutColumn = '-';

/** The columns as one value of a form. */
export function columnsText(columns: readonly FileColumn[]): string {
  return columns.map((column) => column ?? leftOutColumn).join(',');
}

/** The column of a value of a form; null: it is not read; undefined: the value is unknown. */
export function columnOfValue(value: string): FileColumn | undefined {
  return value === leftOutColumn ? null : columnNames.find((name) => name === value);
}

/** The decisions about the columns of the file. */
export function readColumnsOf({ columns, headless }: BatchValues): ReadColumns {
  const decided = columns.split(',', cellsMax).map((value) => columnOfValue(value) ?? null);
  return { isHeadless: headless === 'yes', ...(columns !== '' && { columns: decided }) };
}

function readerOf(values: BatchValues): FileReader {
  const { numbers, days } = values;
  return {
    ...readColumnsOf(values),
    decimalSign: numbers === '.' || numbers === ',' ? numbers : null,
    dayOrder: days === 'day-month' || days === 'month-day' ? days : null,
    leftOut: leftOutOf(values),
  };
}

async function fileCards(page: Page, values: BatchValues): Promise<ReadBatch> {
  if (values.rows.trim() === '')
    return { kind: 'fields', errors: { rows: page.text.batches.errors.fileOrRows } };
  const parsed = await withPauses(parseBatchFile(values.rows, placeOf(page), readerOf(values)));
  if (!parsed.ok) return lineErrors(page, parsed);
  const design = parseDesign(values.design);
  if (!design.ok) return { kind: 'cards', found: { ...parsed, name: null } };
  const cards = parsed.cards.map((card) =>
    card.details.design === null ? { ...card, details: { ...card.details, design: design.value } } : card,
  );
  return { kind: 'cards', found: { ...parsed, cards, name: null } };
}

function equalOnes(page: Page, values: BatchValues): ReadBatch {
  const { errors: text } = page.text.batches;
  const count = countOf(values.count);
  const value = parseTypedAmount(values.value, page.store, { language: page.language });
  const limit = page.store.issueLimit;
  const max = new Intl.NumberFormat(page.language).format(batchCardsMax);
  const isTooMuch = value.ok && limit !== null && isAbove(limit, value.value);
  const valueError = isTooMuch ? fillPlain(text.valueLimit, { amount: page.amount(limit) }) : text.value;
  const fields = {
    // An amount with an error of its own.
    initial_value: value.ok && !isTooMuch ? formatMoney(value.value) : '1',
    expires_on: values.expires_on === '' ? null : values.expires_on,
    note: values.note === '' ? null : values.note,
    design: values.design === '' ? null : values.design,
  };
  const parsed = resultOf(parseBatch([fields], placeOf(page)));
  const wrong = new Set(parsed.ok ? [] : parsed.errors.map(({ field }) => field));
  const errors: BatchFieldErrors = {
    ...((count === null || count < 1 || count > batchCardsMax) && {
      count: fillPlain(text.count, { count: max }),
    }),
    ...((!value.ok || isTooMuch) && { value: valueError }),
    ...(wrong.has('expires_on') && { expires_on: text.day }),
    ...(wrong.has('note') && { note: text.note }),
    ...(wrong.has('design') && { design: lineError('design', page.language) }),
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
  page: Page,
  {
    errors,
    errorCount,
    badLines,
    lineCount,
  }: Omit<Extract<ReadBatch, { readonly kind: 'lines' }>, 'kind' | 'errors'> & {
    readonly errors: readonly LineError[];
  },
): ReadBatch {
  const shown = errors.map((error) => ({ ...error, text: lineErrorText(error, page.language) }));
  return { kind: 'lines', errors: shown, errorCount, badLines, lineCount };
}

/** The texts of fields that are not details of cards. */
const textOfField = {
  initial_value: 'initial_value',
  email: 'email',
  recipient_email: 'email',
  send_on: 'send_on',
  notify: 'notify',
  suspend: 'notify',
  code: 'code',
  storefront_customer_id: 'storefront_customer_id',
  vat_kind: 'vat',
  vat_rate: 'vat',
  currency: 'currency',
} as const satisfies Readonly<Record<Exclude<NewCardField, CardFieldName>, keyof Texts['batches']['lines']>>;

function fieldErrorText(field: string, language: PageLanguage): string {
  const { lines } = batchTexts[language];
  if (isCardField(field)) return lineError(field, language);
  return Object.hasOwn(textOfField, field)
    ? lines[textOfField[field as keyof typeof textOfField]]
    : lines.other;
}

function numberIn(count: number, language: PageLanguage): string {
  return new Intl.NumberFormat(language).format(count);
}

/** The sentence for an error of a line. The services have English messages, which begin with what is wrong. */
export function lineErrorText(
  { line, field, message, cell = '', first = 0 }: LineError,
  language: PageLanguage,
): string {
  const { lines } = batchTexts[language];
  if (message === notText) return lines.notText;
  if (message === fileTooLarge) return lines.tooLarge;
  if (message === tooMuchWork) return lines.tooMuchWork;
  if (message === tooManyLines) return fillPlain(lines.tooManyLines, { count: numberIn(linesMax, language) });
  if (message === lineTooLong) return fillPlain(lines.tooLong, { count: numberIn(rowLengthMax, language) });
  if (message === ambiguousAmount) return fillPlain(lines.ambiguousAmount, { cell });
  if (message === ambiguousDay) return fillPlain(lines.ambiguousDay, { cell });
  if (message === shortenedNumber) return lines.shortened;
  if (message.startsWith(unknownColumn)) return fillPlain(lines.unknownColumn, { cell });
  if (first > 0) return fillPlain(lines.sameCode, { line: first });
  if (field !== null) {
    const reason = field === 'code' ? newCodeErrorText([message], newCodeTexts[language]) : undefined;
    const text = reason ?? fieldErrorText(field, language);
    return cell === '' ? text : fillPlain(lines.withCell, { cell, text });
  }
  if (message.includes('above the limit'))
    return fillPlain(lines.tooMany, { count: numberIn(batchCardsMax, language) });
  if (message.startsWith('must be followed')) return lines.empty;
  if (/ cells/.test(message)) return lines.cells;
  return line === 1 && /column/.test(message) ? lines.header : lines.other;
}
