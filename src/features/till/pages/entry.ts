/** The entry of an amount at the till: a field, amounts that fill it, the keypad, and the button that acts. */

import type { Money } from '../../../core/money/domain/money.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { amountValue, moneyParts } from '../../../pages/kit/format.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { PageLanguage } from '../../../pages/kit/texts.ts';
import { shortAmount, tillTexts } from './frame.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

const digits = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '00', '0'] as const;

/** The texts that the script of the keypad shows while an amount is entered. It fills in `{amount}`. */
export type EntryTexts = {
  /** The note while there is no amount. */
  readonly hint: string;
  /** The note below an amount, such as what it leaves on the card. */
  readonly note?: { readonly text: string; readonly base: Money; readonly change: 'adds' | 'takes' };
  /** The button, without and with an amount. */
  readonly button: string;
  readonly buttonAmount: string;
  /** The highest amount; an amount above it has notes of its own. */
  readonly most?: { readonly amount: Money; readonly rest: string; readonly above: string };
};

/** The attributes of the form for the script of the keypad. */
export function entryData(page: Page, { hint, note, button, buttonAmount, most }: EntryTexts): Markup {
  const { currency } = page.store;
  const shown =
    note &&
    markup` data-note="${note.text}" data-base="${amountValue(note.base, page.language)}" data-change="${note.change}"`;
  const limit =
    most &&
    markup` data-most="${amountValue(most.amount, page.language)}" data-rest="${most.rest}" data-above="${most.above}"`;
  const form = markup` data-currency="${currency.code}" data-decimals="${currency.decimals}" data-hint="${hint}" data-button="${button}" data-button-amount="${buttonAmount}"`;
  return markup`${form}${shown}${limit}`;
}

/** The field, with the keypad. @param quick amounts that fill the field: nothing is submitted by them. */
export function amountEntry(
  page: Page,
  {
    label,
    hint,
    typed,
    error,
    quick = [],
  }: {
    readonly label: string;
    readonly hint: string;
    readonly typed: string;
    readonly error?: string | undefined;
    readonly quick?: readonly { readonly amount: Money; readonly label?: string }[];
  },
): Markup {
  const { currency } = page.store;
  const text = tillTexts(page.request);
  const zero = { minor: 0n, currency };
  const described = error === undefined ? '' : ' amount-error';
  const invalid = error === undefined ? undefined : markup` aria-invalid="true"`;
  const shownError =
    error === undefined ? undefined : markup`<p class="error" id="amount-error" role="alert">${error}</p>`;
  const fills = quick.map(
    ({ amount, label: name = shortAmount(amount, page.language) }) =>
      markup`<button class="button" type="button" data-fill="${amountValue(amount, page.language)}">${name}</button>`,
  );
  const quickRow =
    fills.length === 0
      ? undefined
      : markup`<div class="quick" role="group" aria-label="${text.quick}" data-needs-script hidden>${fills}</div>
`;
  const keys = digits.map((digit) => markup`<button type="button" data-digit="${digit}">${digit}</button>`);
  return markup`<div class="amount"><label class="sr" for="amount">${label}</label>
<div class="entry">${symbolOf(zero, page.language, 'before')}<input class="typed" id="amount" name="amount" size="6" inputmode="decimal" maxlength="100" autocomplete="off" enterkeyhint="done" placeholder="${amountValue(zero, page.language)}" value="${typed}" required autofocus aria-describedby="amount-note${described}"${invalid}>${symbolOf(zero, page.language, 'after')}</div>
<p class="soft small" id="amount-note" aria-live="polite">${hint}</p>
${shownError}</div>
${quickRow}<div class="pad" role="group" aria-label="${text.keypad}" data-needs-script hidden>${keys}<button type="button" data-digit="delete" aria-label="${text.deleteDigit}">⌫</button></div>`;
}

/** The currency of an amount, if the language puts it before or after the number. */
function symbolOf(money: Money, language: PageLanguage, place: 'before' | 'after'): Markup | undefined {
  const parts = moneyParts(money, language);
  const index = parts.findIndex(({ type }) => type === 'currency');
  const isBefore = index < parts.findIndex(({ type }) => type === 'integer');
  if (isBefore !== (place === 'before')) return undefined;
  return markup`<small aria-hidden="true">${parts[index]?.value ?? ''}</small>`;
}

/** The button of a page, at the lower edge of the window. */
export function payButton(label: MarkupPart): Markup {
  return markup`<div class="paybar"><button class="button first big" id="pay">${label}</button></div>`;
}

/** A link to the next card, in the place of `payButton`. @param hasFocus whether Enter follows it. */
export function nextCardBar(
  { frame }: Pick<ConsoleServices, 'frame'>,
  label: string,
  { hasFocus = false }: { readonly hasFocus?: boolean } = {},
): Markup {
  const focus = hasFocus ? markup` autofocus` : undefined;
  return markup`<div class="paybar"><a class="button first big" href="${frame.basePath}/till"${focus}>${label}</a></div>`;
}
