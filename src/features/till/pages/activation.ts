/** The till: a printed card that was scanned first. Its code is sealed in the form, so that no page contains it. */

import { Fault } from '../../../core/domain/fault.ts';
import type { Stock } from '../../../core/stocks/domain/stock.ts';
import { exactly } from '../../../core/cards/domain/given-code.ts';
import { markup } from '../../../platform/markup.ts';
import type { Secret } from '../../../platform/secret.ts';
import { readOffer } from '../service/usual-amounts.ts';
import { findCardByCode, type SearchOutcome } from '../../../core/staff/service/lookup.ts';
import { amountValue, cardTail, parseTypedAmount } from '../../../pages/kit/format.ts';
import { checkCodes, runSearch } from '../../../pages/kit/lookups.ts';
import { hasResult, keyInput } from '../../../pages/kit/once.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type PageResponse,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import { amountEntry, entryData, payButton } from './entry.ts';
import { taskHeading, tillPage } from './page.ts';
import { requireKey } from './parts.ts';
import { amountPage } from './sale-forms.ts';
import { openedCode, sealedInput } from './sealed-code.ts';
import { aboveHighest, amountErrorText, limitText, rejections, sellOnce } from './selling.ts';
import { post, type Page } from '../../../pages/kit/page-context.ts';

/** A printed card that the person can sell. */
type Unsold = Extract<SearchOutcome<unknown>, { readonly kind: 'unsold' }>;

const typedLengthMax = 40;

/** Returns the prices of the card in words. */
function valueNote(page: Page, { fixedValue, minimumValue, maximumValue }: Stock): string {
  const text = page.text.tillSales;
  if (fixedValue) return fillPlain(text.printedValue, { amount: page.amount(fixedValue) });
  if (!minimumValue || !maximumValue) return '';
  const [lowest, highest] = [minimumValue, maximumValue].map((value) => page.amount(value));
  return fillPlain(text.printedRange, { lowest: lowest ?? '', highest: highest ?? '' });
}

type Form = { readonly typed?: string; readonly error?: string | undefined; readonly key?: string };

/** Takes the amount of a printed card, and the money for it. */
export async function activationPage(
  page: Page,
  { reading: { code }, stocked: { stock, triedAt } }: Unsold,
  { typed, error, key }: Form = {},
): Promise<PageResponse> {
  const text = page.text.tillSales;
  const { usual } = await page.read(() =>
    readOffer(page.store, page.member.saleLimit, page.services.canSend),
  );
  const hint = valueNote(page, stock);
  const { fixedValue } = stock;
  const quick = fixedValue ? [fixedValue] : usual;
  const data = entryData(page, { hint, button: text.activate, buttonAmount: text.activateAmount });
  const tail = cardTail(code.reveal().slice(-4));
  const tried = triedAt === null ? undefined : markup`<p class="notice" role="alert">${text.triedBefore}</p>`;
  const body = markup`${taskHeading(page, { title: text.activateTitle })}
${tried}<p class="notice">${fill(text.takePayment, { card: tail })}</p>
<form class="entry-form" method="post" action="${page.basePath}/till/activate"${data}>${keyInput(page.ctx, key)}${sealedInput(page, code)}
${amountEntry(page, { label: text.amount, hint, typed: typed ?? (fixedValue ? amountValue(fixedValue, page.language) : ''), error, quick: quick.map((amount) => ({ amount })) })}
${payButton(text.activate)}</form>`;
  const status = error === undefined ? 200 : 422;
  return { status, body: tillPage(page.services, page.request, { title: text.activateTitle, body }) };
}

/** The form again, if the card can still be sold; otherwise the first step of a sale with the reason. */
async function again(page: Page, code: Secret, form: Form): Promise<ConsoleResponse> {
  const found = await runSearch(page.services, page.request, (searcher) =>
    findCardByCode(page.ctx, searcher, exactly(code)),
  );
  if (found.kind === 'unsold') return await activationPage(page, found, form);
  const error = page.text.tillSales.codeTaken;
  return await amountPage(page, { typed: form.typed ?? '', error });
}

async function activate(page: Page): Promise<ConsoleResponse> {
  const code = openedCode(page);
  if (!code) return seeOther('/till');
  const key = requireKey(page);
  const typed = page.typed('amount').slice(0, typedLengthMax);
  const amount = parseTypedAmount(typed, page.store, page.request);
  const wrong = amount.ok ? aboveHighest(amount.value, page.request) : amountErrorText(page);
  if (!amount.ok || wrong !== undefined) return await again(page, code, { typed, error: wrong, key });
  const sold = { value: amount.value, code, recipient: null };
  try {
    await checkCodes(page.services, page.request, { count: 1 }, async () => ({
      result: await sellOnce(page, key, sold),
      taken: 0,
    }));
  } catch (error) {
    if (!(error instanceof Fault) || !rejections.has(error.code)) throw error;
    // An earlier or concurrent submission of the same form has sold the card.
    if (await hasResult(page.services, page.request, key)) return seeOther(`/till/sold/${key}`);
    if (error.code === 'too-many-misses') {
      const shown = await amountPage(page, { typed, error: page.text.tillSales.tooMany });
      return throttled(shown, (error.retryAfterSeconds ?? 1) * 1_000);
    }
    const reason = limitText(error, page.request) ?? page.text.tillSales.codeTaken;
    return await again(page, code, { typed, error: reason, key });
  }
  return seeOther(`/till/sold/${key}`);
}

export const activationRoutes: readonly StaffRoute[] = [post('/till/activate', 'useTill', activate)];
