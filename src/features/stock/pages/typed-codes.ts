/** Codes of printed cards that a person types or pastes. A page never has them in its response. */

import { Fault } from '../../../core/domain/fault.ts';
import type { readNewCode } from '../../../core/cards/domain/given-code.ts';
import { parseCodeLines, type CodeLines } from '../domain/code-lines.ts';
import { stockCodesMax } from '../../../core/stocks/domain/stock.ts';
import { lookupsPerHour } from '../../../core/staff/service/lookup.ts';
import { checkCodes, searcherOf } from '../../../pages/kit/lookups.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { newCodeErrorText } from '../../../pages/kit/code-errors.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';

/** Lines that an error names. */
const namedMax = 20;

/** An error with the lines that it is about. @param text has `{lines}`, and the names of `more`. */
export function linesError(
  text: string,
  lines: readonly number[],
  more: Readonly<Record<string, string>> = {},
): string {
  const named = lines.slice(0, namedMax).join(', ');
  return fillPlain(text, { ...more, lines: lines.length > namedMax ? `${named} …` : named });
}

type WrongLine = { readonly line: number; readonly message: string };

function linesOf(wrong: readonly WrongLine[]): readonly number[] {
  return wrong.map(({ line }) => line);
}

/** The lines with the first error that concerns new codes, and its reason; undefined: the error is another one. */
function reasonError(page: Page, wrong: readonly WrongLine[]): string | undefined {
  const [first] = wrong;
  const reason = first && newCodeErrorText([first.message], page.text.newCodes);
  if (reason === undefined) return undefined;
  const lines = linesOf(wrong.filter(({ message }) => message === first?.message));
  return linesError(page.text.stock.errors.because, lines, { reason });
}

/** The codes of a form, at most as many as the person can look up in an hour; or the error of their field. */
export function readTypedCodes(page: Page, read: typeof readNewCode): CodeLines | { readonly error: string } {
  const { errors: text } = page.text.stock;
  const typed = parseCodeLines(page.request.form.get('codes') ?? '', read);
  const [first] = typed.errors;
  if (first)
    return { error: reasonError(page, typed.errors) ?? linesError(text.codes, linesOf(typed.errors)) };
  const max = Math.min(stockCodesMax, lookupsPerHour(searcherOf(page.services, page.request)));
  if (typed.codes.length <= max) return typed;
  return { error: fillPlain(text.tooManyCodes, { count: new Intl.NumberFormat(page.language).format(max) }) };
}

/** The lines of codes that were rejected; undefined: there are none. */
export type RejectedLines = readonly number[] | undefined;

/**
 * Runs what looks for codes, within the person's budget of failed lookups. Each rejected code uses up one.
 * @throws Fault `too-many-misses`, and those of `run` that are about no code.
 */
export async function withinBudget(
  { services, request }: Page,
  { codes, lines }: CodeLines,
  run: () => Promise<RejectedLines>,
): Promise<RejectedLines> {
  return await checkCodes(services, request, { count: codes.length }, async () => {
    const result = await run().catch((error: unknown) => {
      const rejected = error instanceof Fault ? placesOfErrors(error) : [];
      if (rejected.length === 0) throw error;
      return rejected.map((place) => lines[place] ?? 0);
    });
    return { result, taken: result?.length ?? 0 };
  });
}

/** The places of codes in the names of errors: `codes[12]`. */
function placesOfErrors({ errors = {} }: Fault): readonly number[] {
  return Object.keys(errors).flatMap((name) => {
    const place = /^codes\[(\d{1,5})\]$/.exec(name)?.[1];
    return place === undefined ? [] : [Number(place)];
  });
}
