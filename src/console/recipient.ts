/** The page of recipients: they enter a code, or follow the link of their email, and see their card. */

import { isExpired } from '../domain/card.ts';
import { parseTypedCode } from '../domain/code.ts';
import { recipientPath } from '../domain/recipient-page.ts';
import { markup, type Markup } from '../markup.ts';
import { today } from '../service/money.ts';
import { findCardOfRecipient } from '../service/recipient-lookup.ts';
import { listTransfersBefore } from '../storage/transfer.ts';
import { recipientCardPage } from './recipient-card.ts';
import { contactLine, placeOf, publicPage, type RecipientPlace } from './recipient-place.ts';
import { formText, type ConsoleRequest } from './request.ts';
import {
  throttled,
  type ConsoleResponse,
  type ConsoleServices,
  type OpenRoute,
  type PageResponse,
} from './route.ts';

/** Movements of a card that the page shows, the newest. */
const movementsMax = 50;

/** As long as the longest typed code. */
const typedLengthMax = 100;

type CodeForm = {
  readonly typed?: string;
  readonly error?: string;
  readonly hasFocus?: boolean;
};

function codeForm(
  { path, language: { texts, shared } }: RecipientPlace,
  { typed = '', error, hasFocus = false }: CodeForm = {},
): Markup {
  const invalid = error === undefined ? undefined : markup` aria-invalid="true"`;
  const focus = hasFocus ? markup` autofocus` : undefined;
  const problem =
    error === undefined ? undefined : markup`<p class="error" id="code-error" role="alert">${error}</p>`;
  return markup`<form class="panel stack" method="post" action="${path}"><div><label for="code">${shared.codeLabel}</label>
<input class="field code" id="code" name="code" value="${typed}" maxlength="${String(typedLengthMax)}" dir="ltr" autocapitalize="characters" autocomplete="off" autocorrect="off" spellcheck="false" enterkeyhint="go" required aria-describedby="${error === undefined ? '' : 'code-error '}code-hint"${invalid}${focus}>
${problem}<p class="hint" id="code-hint">${texts.formHint}</p></div>
<button class="button first">${shared.checkBalance}</button></form>
`;
}

function askPage(
  services: ConsoleServices,
  place: RecipientPlace,
  {
    status = 200,
    notice,
    form,
    isLinked = false,
  }: {
    readonly status?: 200 | 422;
    readonly notice?: string;
    readonly form?: CodeForm;
    /** Whether emails link to it. */
    readonly isLinked?: boolean;
  } = {},
): PageResponse {
  const { texts } = place.language;
  const problem =
    notice === undefined
      ? undefined
      : markup`<p class="notice" role="alert">${notice}</p>
`;
  const content = markup`<h1>${texts.title}</h1>
${problem}${codeForm(place, form)}<p class="hint">${texts.where}</p>
${contactLine(place)}`;
  const scripts = isLinked ? ['recipient.js'] : [];
  return { status, body: publicPage(services, place, { title: texts.title, content, scripts }) };
}

/** The same page for a code that no card has, and for that of a disabled card. */
function unknownPage(services: ConsoleServices, place: RecipientPlace): PageResponse {
  const { texts } = place.language;
  const content = markup`<h1>${texts.unknownTitle}</h1>
<p class="soft">${texts.unknown}</p>
${codeForm(place, { hasFocus: true })}${contactLine(place)}`;
  return { status: 404, body: publicPage(services, place, { title: texts.unknownTitle, content }) };
}

async function find(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const { ctx, storage, lookups } = services;
  const place = await placeOf(services, request);
  const { store, language } = place;
  const typed = formText(request, 'code');
  const codes = parseTypedCode(typed);
  if (!codes.ok) {
    const form = { typed: typed.slice(0, typedLengthMax), error: language.texts.invalid, hasFocus: true };
    return askPage(services, place, { status: 422, form });
  }
  const recipient = { store, client: request.client, perHour: lookups.perHour };
  const outcome = await storage.write(() => findCardOfRecipient(ctx, recipient, codes.value));
  if (outcome.kind === 'throttled') {
    const waitMs = (outcome.fault.retryAfterSeconds ?? 1) * 1_000;
    return throttled(askPage(services, place, { notice: language.texts.tooMany }), waitMs);
  }
  if (outcome.kind === 'missed') {
    for (const cardId of outcome.retired) lookups.recordRetired({ storeId: store.id, cardId });
    return unknownPage(services, place);
  }
  const { card, code } = outcome;
  const key = { storeId: store.id, cardId: card.id };
  const transfers = await storage.read(() => listTransfersBefore(key, { before: null, limit: movementsMax }));
  return recipientCardPage(services, place, {
    card,
    code,
    transfers,
    isOver: isExpired(card, today(ctx, store)),
  });
}

/** The routes of a page. `/b` is the page of the first store. */
function routesAt(path: string): readonly OpenRoute[] {
  return [
    {
      method: 'GET',
      path,
      access: 'anyone',
      handle: async (services, request) => askPage(services, await placeOf(services, request)),
    },
    { method: 'POST', path, access: 'anyone', acceptsOtherSites: true, handle: find },
    {
      method: 'GET',
      path: `${path}/card`,
      access: 'anyone',
      handle: async (services, request) =>
        askPage(services, await placeOf(services, request), { isLinked: true }),
    },
  ];
}

export const recipientRoutes: readonly OpenRoute[] = [recipientPath(null), recipientPath(':domain')].flatMap(
  routesAt,
);
