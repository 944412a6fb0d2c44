/** Adds printed cards to the stock: new ones, whose codes are generated, or ones that are printed already. */

import { startBatchesTool } from '../../batches/service/batch.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import {
  stockCodesMax,
  stockNameLengthMax,
  stockValuesOf,
  validMonthsMax,
  valueErrors,
  type StockTerms,
} from '../../../core/stocks/domain/stock.ts';
import { isAbove } from '../../../core/stores/domain/store.ts';
import { parseLine } from '../../../core/domain/text.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { readNewCode } from '../../../core/cards/domain/given-code.ts';
import { markup } from '../../../platform/markup.ts';
import type { CodeLines } from '../domain/code-lines.ts';
import { addStock } from '../service/staff-stock.ts';
import { checkStock } from '../service/stock.ts';
import { countOf } from '../../batches/pages/form.ts';
import { withoutAccess } from '../../../pages/kit/without-access.ts';
import { alert, inputField, textArea } from '../../../pages/kit/form.ts';
import { parseTypedAmount } from '../../../pages/kit/format.ts';
import { findResult, type Json } from '../../../pages/kit/once.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { seeOther, type ConsoleResponse } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { linesError, readTypedCodes, withinBudget, type RejectedLines } from './typed-codes.ts';

const fieldNames = ['count', 'codes', 'value', 'minimum', 'maximum', 'months', 'name'] as const;

type Field = (typeof fieldNames)[number];
type Errors = Readonly<Partial<Record<Field, string>>>;
type Values = Readonly<Record<Field, string>>;

function typedValues(page: Page): Values {
  // A page does not have the codes in its response.
  const shown = fieldNames.map((name) => [name, name === 'codes' ? '' : page.typed(name)]);
  return Object.fromEntries(shown) as Values;
}

type Form = { readonly values: Values; readonly errors?: Errors; readonly notice?: string };

function formPage(page: Page, { values, errors = {}, notice }: Form): ConsoleResponse {
  const { form: text, new: title } = page.text.stock;
  const { form: cards } = page.text.batches;
  const own = (name: Field, label: string, hint?: string) => ({
    name,
    label,
    value: values[name],
    error: errors[name],
    ...(hint !== undefined && { hint }),
  });
  const amount = { inputMode: 'decimal', kind: 'amount', isOptional: true } as const;
  const isRejected = notice !== undefined || Object.keys(errors).length > 0;
  const fields = markup`${inputField({ ...own('count', cards.count), inputMode: 'numeric', isOptional: true })}
${textArea(own('codes', text.codes, text.codesHint))}
${inputField({ ...own('value', cards.value, text.valueHint), ...amount })}
${inputField({ ...own('minimum', text.minimum), ...amount })}
${inputField({ ...own('maximum', text.maximum), ...amount })}
${inputField({ ...own('months', text.months, text.monthsHint), inputMode: 'numeric', isOptional: true })}
${inputField({ ...own('name', cards.name, text.nameHint), isOptional: true })}
<div class="row"><button class="button first">${text.add}</button>${page.link('/cards/stock', page.text.batches.preview.back, 'quiet')}</div>`;
  const body = markup`<section class="panel stack change" aria-label="${title}">${notice === undefined ? undefined : alert(notice)}<p>${text.hint}</p>
${page.form('/cards/stock/new', fields, isRejected ? page.key : undefined)}</section>`;
  return page.show('/cards', { title, body, status: isRejected ? 422 : 200 });
}

type Read = {
  readonly errors: Errors;
  readonly stock: {
    readonly name: string | null;
    readonly codes: CodeLines | number;
    readonly terms: StockTerms;
  };
};

/** Reads an optional field. @returns the value; null: it is empty or wrong, and then it is in `wrong`. */
function optional<Value>(
  text: string,
  read: (text: string) => Value | null,
  isWrong: () => void,
): Value | null {
  if (text === '') return null;
  const value = read(text);
  if (value === null) isWrong();
  return value;
}

function readForm(page: Page, values: Values): Read {
  const { language, store } = page;
  const { errors: text } = page.text.stock;
  const { errors: cards } = page.text.batches;
  const errors: Partial<Record<Field, string>> = {};
  const format = new Intl.NumberFormat(language);
  const codes = readCodes(page, values, errors);
  const amountOf = (name: 'value' | 'minimum' | 'maximum'): Money | null =>
    optional(
      values[name],
      (typed) => {
        const amount = parseTypedAmount(typed, store, { language });
        return amount.ok ? amount.value : null;
      },
      () => (errors[name] = cards.value),
    );
  const sent = {
    fixedValue: amountOf('value'),
    minimumValue: amountOf('minimum'),
    maximumValue: amountOf('maximum'),
  };
  const validMonths = optional(
    values.months,
    (typed) => {
      const months = countOf(typed) ?? 0;
      return months >= 1 && months <= validMonthsMax ? months : null;
    },
    () => (errors.months = fillPlain(text.months, { count: format.format(validMonthsMax) })),
  );
  const name = parseLine(values.name === '' ? null : values.name, stockNameLengthMax);
  if (!name.ok) errors.name = cards.name;
  addValueErrors(page, sent, errors);
  const terms = { ...stockValuesOf(sent, store), validMonths };
  return { errors, stock: { name: name.ok ? name.value : null, codes, terms } };
}

/** The typed codes, or how many are generated; wrong ones are in `errors`. */
function readCodes(page: Page, values: Values, errors: Partial<Record<Field, string>>): CodeLines | number {
  const text = page.text.stock.errors;
  const typed = readTypedCodes(page, readNewCode);
  if ('error' in typed) errors.codes = typed.error;
  else if (typed.codes.length > 0) {
    if (values.count !== '') errors.codes = text.countOrCodes;
    return typed;
  }
  const count = countOf(values.count) ?? 0;
  const max = new Intl.NumberFormat(page.language).format(stockCodesMax);
  if (count < 1 || count > stockCodesMax)
    errors.count = fillPlain(page.text.batches.errors.count, { count: max });
  return count;
}

const fieldOf = { fixed_value: 'value', minimum_value: 'minimum', maximum_value: 'maximum' } as const;

/** Adds the errors of amounts that concern several fields, or the store's limit. */
function addValueErrors(
  page: Page,
  sent: Parameters<typeof valueErrors>[0],
  errors: Partial<Record<Field, string>>,
): void {
  const { issueLimit } = page.store;
  const { errors: text } = page.text.stock;
  const amounts = { value: sent.fixedValue, minimum: sent.minimumValue, maximum: sent.maximumValue };
  for (const [name] of valueErrors(sent, page.store)) {
    const field = fieldOf[name];
    const amount = amounts[field];
    const isTooMuch = issueLimit !== null && amount && isAbove(issueLimit, amount);
    if (errors[field] !== undefined) continue;
    if (isTooMuch === true)
      errors[field] = fillPlain(page.text.batches.errors.valueLimit, { amount: page.amount(issueLimit) });
    else errors[field] = sent.fixedValue ? text.either : text.limits;
  }
}

function isId(result: Json): result is number {
  return typeof result === 'number';
}

async function submit(page: Page): Promise<ConsoleResponse> {
  const { services, request, ctx, by, key } = page;
  const { errors: messages } = page.text.batches;
  const before = key === undefined ? undefined : await findResult(services, request, key, isId);
  if (before !== undefined) return seeOther(`/cards/stock/${before}`);
  const values = typedValues(page);
  const { errors, stock } = readForm(page, values);
  if (Object.keys(errors).length > 0) return formPage(page, { values, errors });
  if (key === undefined) return formPage(page, { values, notice: messages.incomplete });
  const { codes, ...named } = stock;
  const { errors: text } = page.text.stock;
  try {
    const taken = typeof codes === 'number' ? undefined : await takenLines(page, codes);
    if (taken) return formPage(page, { values, errors: { codes: linesError(text.taken, taken) } });
    const added = {
      ...named,
      codes: typeof codes === 'number' ? codes : codes.codes.map(({ code }) => code),
    };
    const { result } = await page.once(key, () => addStock(ctx, by, added));
    services.tools.of(startBatchesTool)();
    return seeOther(`/cards/stock/${result}`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.code === 'too-many-misses')
      return formPage(page, { values, errors: { codes: text.tooManyTries } });
    const withheld = withoutAccess(page, error);
    if (withheld) return withheld;
    if (error.code !== 'too-many-requests') throw error;
    return formPage(page, { values, notice: messages.busy });
  }
}

/** The lines of codes that the store has used before; undefined: there are none. */
async function takenLines(page: Page, codes: CodeLines): Promise<RejectedLines> {
  const { services, store } = page;
  return await withinBudget(page, codes, async () => {
    const found = await checkStock(services, { store, codes: codes.codes });
    return found.length === 0 ? undefined : found.map(({ index }) => codes.lines[index] ?? 0);
  });
}

export const newStockPage = {
  show: (page: Page): ConsoleResponse => formPage(page, { values: typedValues(page) }),
  submit,
};
