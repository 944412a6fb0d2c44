/** The till: a printed card that was scanned first. Its code is sealed in the form, so that no page contains it. */

import { Fault } from '../../domain/fault.ts';
import type { Stock } from '../../domain/stocks/stock.ts';
import { sealNonceLength } from '../../platform/keys.ts';
import { markup } from '../../platform/markup.ts';
import { Secret } from '../../platform/secret.ts';
import { readOffer } from '../../service/books/usual-amounts.ts';
import { findCardByCode, type SearchOutcome } from '../../service/staff/lookup.ts';
import { hidden } from '../kit/form.ts';
import { amountText, amountValue, cardTail, parseTypedAmount } from '../kit/format.ts';
import { checkCodes, runSearch } from '../kit/lookups.ts';
import { hasResult, keyInput } from '../kit/once.ts';
import { formText } from '../kit/request.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type ConsoleServices,
  type PageResponse,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { fill, fillPlain } from '../kit/texts.ts';
import { amountEntry, entryData, payButton } from './entry.ts';
import { taskHeading, tillPage } from './page.ts';
import { requireKey } from './parts.ts';
import { amountPage, saleTexts } from './sale-forms.ts';
import { aboveHighest, amountErrorText, limitText, rejections, sellOnce } from './selling.ts';

/** A printed card that the person can sell. */
type Unsold = Extract<SearchOutcome<unknown>, { readonly kind: 'unsold' }>;

const typedLengthMax = 40;

/** The seal is of the person, and of no one else's form. */
function boundTo({ signedIn: { store, member } }: StaffRequest): string {
  return `activation ${store.id} ${member.id}`;
}

function sealed({ ctx }: ConsoleServices, request: StaffRequest, code: Secret): string {
  const nonce = ctx.random.bytes(sealNonceLength);
  const bytes = ctx.keys.seal('stock', Buffer.from(code.reveal()), boundTo(request), nonce);
  return Buffer.from(bytes).toString('base64url');
}

/** The code of the form; undefined: this service did not seal it for the person. */
function opened({ ctx }: ConsoleServices, request: StaffRequest): Secret | undefined {
  const text = request.form.get('sealed') ?? '';
  if (!/^[\w-]{20,200}$/.test(text)) return undefined;
  try {
    const bytes = ctx.keys.open('stock', Buffer.from(text, 'base64url'), boundTo(request));
    return new Secret(Buffer.from(bytes).toString());
  } catch {
    return undefined;
  }
}

/** Returns the prices of the card in words. */
function valueNote({ language }: StaffRequest, { fixedValue, minimumValue, maximumValue }: Stock): string {
  const text = saleTexts[language];
  if (fixedValue) return fillPlain(text.printedValue, { amount: amountText(fixedValue, language) });
  if (!minimumValue || !maximumValue) return '';
  const [lowest, highest] = [minimumValue, maximumValue].map((value) => amountText(value, language));
  return fillPlain(text.printedRange, { lowest: lowest ?? '', highest: highest ?? '' });
}

type Form = { readonly typed?: string; readonly error?: string | undefined; readonly key?: string };

/** Takes the amount of a printed card, and the money for it. */
export async function activationPage(
  services: ConsoleServices,
  request: StaffRequest,
  { code, stocked: { stock, triedAt } }: Unsold,
  { typed, error, key }: Form = {},
): Promise<PageResponse> {
  const { ctx, storage, frame } = services;
  const { language, signedIn } = request;
  const text = saleTexts[language];
  const { usual } = await storage.read(() =>
    readOffer(signedIn.store, signedIn.member.saleLimit, services.canSend),
  );
  const hint = valueNote(request, stock);
  const { fixedValue } = stock;
  const quick = fixedValue ? [fixedValue] : usual;
  const data = entryData(request, { hint, button: text.activate, buttonAmount: text.activateAmount });
  const tail = cardTail(code.reveal().slice(-4));
  const tried = triedAt === null ? undefined : markup`<p class="notice" role="alert">${text.triedBefore}</p>`;
  const body = markup`${taskHeading(services, request, { title: text.activateTitle })}
${tried}<p class="notice">${fill(text.takePayment, { card: tail })}</p>
<form class="entry-form" method="post" action="${frame.basePath}/till/activate"${data}>${keyInput(ctx, key)}${hidden('sealed', sealed(services, request, code))}
${amountEntry(request, { label: text.amount, hint, typed: typed ?? (fixedValue ? amountValue(fixedValue, language) : ''), error, quick: quick.map((amount) => ({ amount })) })}
${payButton(text.activate)}</form>`;
  const status = error === undefined ? 200 : 422;
  return { status, body: tillPage(services, request, { title: text.activateTitle, body }) };
}

/** The form again, if the card can still be sold; otherwise the first step of a sale with the reason. */
async function again(
  services: ConsoleServices,
  request: StaffRequest,
  code: Secret,
  form: Form,
): Promise<ConsoleResponse> {
  const found = await runSearch(services, request, (searcher) =>
    findCardByCode(services.ctx, searcher, [code]),
  );
  if (found.kind === 'unsold') return await activationPage(services, request, found, form);
  const error = saleTexts[request.language].codeTaken;
  return await amountPage(services, request, { typed: form.typed ?? '', error });
}

async function activate(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { language, signedIn } = request;
  const code = opened(services, request);
  if (!code) return seeOther('/till');
  const key = requireKey(request);
  const typed = formText(request, 'amount').slice(0, typedLengthMax);
  const amount = parseTypedAmount(typed, signedIn.store, request);
  const wrong = amount.ok ? aboveHighest(amount.value, request) : amountErrorText(request);
  if (!amount.ok || wrong !== undefined)
    return await again(services, request, code, { typed, error: wrong, key });
  const sold = { value: amount.value, code, recipient: null };
  try {
    await checkCodes(services, request, { count: 1 }, async () => ({
      result: await sellOnce(services, request, key, sold),
      taken: 0,
    }));
  } catch (error) {
    if (!(error instanceof Fault) || !rejections.has(error.code)) throw error;
    // An earlier or concurrent submission of the same form has sold the card.
    if (await hasResult(services, request, key)) return seeOther(`/till/sold/${key}`);
    if (error.code === 'too-many-misses') {
      const page = await amountPage(services, request, { typed, error: saleTexts[language].tooMany });
      return throttled(page, (error.retryAfterSeconds ?? 1) * 1_000);
    }
    const reason = limitText(error, request) ?? saleTexts[language].codeTaken;
    return await again(services, request, code, { typed, error: reason, key });
  }
  return seeOther(`/till/sold/${key}`);
}

export const activationRoutes: readonly StaffRoute[] = [
  { method: 'POST', path: '/till/activate', access: 'useTill', handle: activate },
];
