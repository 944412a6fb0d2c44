/**
 * A form of the till that was submitted after the session had ended: nothing happened, and after signing in its page has
 * the amount again.
 */

import { markup, type Markup } from '../../../platform/markup.ts';
import { amountValue, parseTypedAmount } from '../../../pages/kit/format.ts';
import type { ConsoleRequest } from '../../../pages/kit/request.ts';
import { tillTexts } from './frame.ts';
import { repeatedValues } from './unknown.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

const mark = 'ended=1';

/** The page with the amount of a form. @param path that of the form's page. @param more what its query has as well. */
export function resumedPath(
  path: string,
  { form }: Pick<ConsoleRequest, 'form'>,
  more: Readonly<Record<string, string>> = {},
): string {
  const { total, choice, amount, reference } = Object.fromEntries(repeatedValues(form));
  const entered = total ?? choice ?? amount;
  const query = new URLSearchParams({
    ...more,
    ...(entered !== undefined && { amount: entered }),
    ...(reference !== undefined && { reference }),
  });
  return `${path}?${[query.toString(), mark].filter((part) => part !== '').join('&')}`;
}

/** Says that nothing happened, on the page where the person signs in. @param next where the person continues. */
export function endedNotice(
  { language }: Pick<ConsoleRequest, 'language'>,
  next: string,
): Markup | undefined {
  if (!next.startsWith('/till/') || !next.endsWith(mark)) return undefined;
  return markup`<p class="notice" role="alert">${tillTexts({ language }).ended}</p>`;
}

/** The values of a resumed form; undefined: the request is not one. */
export function resumedForm(
  page: Page,
): { readonly amount: string; readonly reference: string; readonly notice: Markup } | undefined {
  if (!page.request.query.has('ended')) return undefined;
  const amount = parseTypedAmount(page.request.query.get('amount') ?? '', page.store, {
    language: page.language,
  });
  return {
    amount: amount.ok ? amountValue(amount.value, page.language) : '',
    reference: page.request.query.get('reference')?.slice(0, 40) ?? '',
    notice: markup`<p class="notice" role="alert">${tillTexts({ language: page.language }).resumed}</p>`,
  };
}
