/**
 * A redemption whose result is unknown: the connection was lost, or the service failed. The page finds it out with the
 * same key, which makes trying again and cancelling safe.
 */

import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { cardTail } from '../../../pages/kit/format.ts';
import { hidden } from '../../../pages/kit/form.ts';
import { isKey } from '../../../pages/kit/once.ts';
import { documentOf } from '../../../pages/kit/page.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { UnknownPage, UnknownRequest } from '../../../pages/kit/route.ts';
import { fill } from '../../../pages/kit/texts.ts';
import { tillTexts, type TillTexts } from './frame.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

const refreshSeconds = 5;

/**
 * The fields with which a redemption is tried again, and what they can have: no text that could be a code, because they are
 * in a URL. A receipt number that could be one is left out.
 */
const repeatedFields = {
  amount: /^(?:\d{1,7}|\d{1,3}[ '’]\d{3}|(?=[\d '’]*[.,])[\d .,'’]{1,20})$/,
  choice: /^\d{1,12}(?:[.,]\d{1,4})?$/,
  total: /^\d{1,12}(?:[.,]\d{1,4})?$/,
  reference: /^[\w#/-]{1,7}$/,
  currency: /^[A-Z]{3}$/,
  tail: /^[0-9a-z]{4}$/,
} as const;

type Fields = ReadonlyMap<string, string>;

export function repeatedValues(fields: Fields): readonly (readonly [name: string, value: string])[] {
  return Object.entries(repeatedFields).flatMap(([name, form]) => {
    const value = (fields.get(name) ?? '')
      .slice(0, 40)
      .replaceAll(/\p{Sc}/gu, '')
      .replaceAll(/\s/g, ' ')
      .trim();
    return form.test(value) ? [[name, value] as const] : [];
  });
}

/** The query of the page that checks a redemption, with what is needed to try it again. */
function checkQuery(card: string, form: Fields): string {
  return new URLSearchParams([['card', card], ...repeatedValues(form).map((pair) => [...pair])]).toString();
}

/** The hidden fields with which a redemption is tried again. */
export function repeatedInputs(fields: Fields): readonly Markup[] {
  return repeatedValues(fields).map(([name, value]) => hidden(name, value));
}

const spinner: Markup = markup`<svg class="spin" viewBox="0 0 48 48" fill="none" stroke="currentColor" stroke-width="3.5" stroke-linecap="round" aria-hidden="true"><circle cx="24" cy="24" r="21" opacity=".25"/><path d="M24 3a21 21 0 0 1 21 21"/></svg>`;

function statement(
  text: TillTexts,
  {
    amount,
    tail,
    since,
  }: { readonly amount: MarkupPart; readonly tail: MarkupPart; readonly since: MarkupPart },
): Markup {
  return markup`<div class="paid wait" role="status">${spinner}<div>${amount}</div>
<p><strong>${text.unknown}</strong><br><span data-now>${text.checking}</span></p><p>${since}${fill(text.sameRequest, { tail })}</p></div>`;
}

/** Returns the notice that the script shows after a lost connection. */
export function checkingTemplate(page: Page): Markup {
  const text = tillTexts(page.request);
  const amount = markup`<span class="figure" data-amount></span>`;
  const tail = markup`<span class="code nowrap" data-tail></span>`;
  const since = markup`${fill(text.lostAt, { time: markup`<time data-time></time>` })} `;
  return markup`<template id="checking" data-title="${text.checkingTitle}" data-checking="${text.checking}" data-cancelling="${text.cancelling}">${statement(text, { amount, tail, since })}
<div class="quick two-up"><a class="button" href="${page.basePath}/till" data-next>${text.nextCustomer}</a><button class="button bad" type="button" data-cancel>${text.cancel}</button></div>
<p class="small soft center">${text.waysOut}</p>
<button class="button first big" type="button" data-check>${text.checkNow}</button></template>`;
}

/** The page after an error of the service, without a script: it checks after some seconds, and offers the same ways out. */
export function unknownPage(
  services: ConsoleServices,
  request: UnknownRequest,
  { amount }: { readonly amount: Markup | undefined },
): UnknownPage | undefined {
  const { basePath } = services.frame;
  const { form, params, language } = request;
  const [key = '', card = ''] = [form.get('key'), params['id']];
  if (!isKey(key) || !/^\d{1,16}$/.test(card)) return undefined;
  const text = tillTexts(request);
  const path = `/till/redeemed/${key}`;
  const query = checkQuery(card, form);
  const lastCharacters = form.get('tail') ?? '';
  const tail = /^[0-9a-z]{4}$/.test(lastCharacters) ? cardTail(lastCharacters) : '';
  const body = markup`<main class="till" id="content"><h1 class="sr">${text.checkingTitle}</h1>
${statement(text, { amount, tail, since: undefined })}
<div class="quick two-up"><a class="button" href="${basePath}/till">${text.nextCustomer}</a><form method="post" action="${basePath}${path}/cancel"><button class="button bad">${text.cancel}</button></form></div>
<p class="small soft center">${text.waysOut}</p>
<form class="stack" method="get" action="${basePath}${path}">${hidden('card', card)}${repeatedInputs(form)}<button class="button first big">${text.checkNow}</button></form></main>`;
  return {
    body: documentOf(services, { language }, { title: text.checkingTitle, body, scripts: [] }),
    refresh: { path: `${path}?${query}`, seconds: refreshSeconds },
  };
}
