/** The page of recipients: they enter a code, or follow the link of their email, and see their card. */

import { walletTool } from '../../wallets/pages/tools.ts';
import { Readable } from 'node:stream';
import { isExpired } from '../../../core/cards/domain/card.ts';
import { givenCodeLengthMax, readGivenCode } from '../../../core/cards/domain/given-code.ts';
import { emailLengthMax, parseEmail } from '../../../core/domain/email-address.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { recipientPath } from '../../../core/emails/domain/recipient-page.ts';
import { isVoid } from '../../wallets/domain/face.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { today } from '../../../core/stores/service/day.ts';
import {
  findCardOfRecipient,
  findLogoOfPage,
  listShownMovements,
  recordFirstView,
} from '../service/recipient-lookup.ts';
import { passToken } from '../../wallets/service/apple.ts';
import { passType } from '../../wallets/pages/apple-service.ts';
import { walletKindsOf } from '../../wallets/pages/kinds.ts';
import { recipientCardPage } from './card.ts';
import { domainOf, visitorErrorPage, placeOf, publicPage, type RecipientPlace } from './place.ts';
import { formText, type ConsoleRequest } from '../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import {
  throttled,
  type ConsoleResponse,
  type OpenRoute,
  type PageResponse,
} from '../../../pages/kit/route.ts';

type CodeForm = { readonly typed?: string; readonly error?: string; readonly hasFocus?: boolean };

/** Shown for all codes, because the page does not reveal which of them the store has chosen. */
function addressField(texts: RecipientPlace['language']['texts']): Markup {
  return markup`<div><label for="email">${texts.email}</label>
<input class="field" id="email" name="email" type="email" maxlength="${String(emailLengthMax)}" dir="ltr" autocomplete="email" aria-describedby="email-hint">
<p class="hint" id="email-hint">${texts.emailHint}</p></div>
`;
}

function codeForm(
  { path, language: { texts, shared }, asksAddress }: RecipientPlace,
  { typed = '', error, hasFocus = false }: CodeForm = {},
): Markup {
  const invalid = error === undefined ? undefined : markup` aria-invalid="true"`;
  const focus = hasFocus ? markup` autofocus` : undefined;
  const problem =
    error === undefined ? undefined : markup`<p class="error" id="code-error" role="alert">${error}</p>`;
  return markup`<form class="panel stack" method="post" action="${path}"><div><label for="code">${shared.codeLabel}</label>
<input class="field code" id="code" name="code" value="${typed}" maxlength="${String(givenCodeLengthMax)}" dir="ltr" autocapitalize="characters" autocomplete="off" autocorrect="off" spellcheck="false" enterkeyhint="go" required aria-describedby="${error === undefined ? '' : 'code-error '}code-hint"${invalid}${focus}>
${problem}<p class="hint" id="code-hint">${texts.formHint}</p></div>
${asksAddress ? addressField(texts) : undefined}<button class="button first">${shared.checkBalance}</button></form>
`;
}

function askPage(
  services: ConsoleServices,
  place: RecipientPlace,
  {
    status = 200,
    notice,
    form,
    opensCard = false,
  }: {
    readonly status?: 200 | 422;
    readonly notice?: string;
    readonly form?: CodeForm;
    /** Whether it shows the card of the link or the tab. */
    readonly opensCard?: boolean;
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
`;
  return { status, body: publicPage(services, place, { title: texts.title, content, opensCard }) };
}

/** The same page for a code that no card has, for that of a disabled card, and for a card that is not shown. */
function unknownPage(services: ConsoleServices, place: RecipientPlace): PageResponse {
  const { texts } = place.language;
  const content = markup`<h1>${texts.unknownTitle}</h1>
<p class="soft">${texts.unknown}</p>
${codeForm(place, { hasFocus: true })}`;
  return { status: 404, body: publicPage(services, place, { title: texts.unknownTitle, content }) };
}

/** The card that was searched, or the page that says why it is not shown. */
type Searched =
  | { readonly response: ConsoleResponse }
  | {
      readonly place: RecipientPlace;
      readonly shown: Parameters<typeof recipientCardPage>[2];
    };

async function search(services: ConsoleServices, request: ConsoleRequest): Promise<Searched> {
  const { ctx, storage, lookups } = services;
  const place = await placeOf(services, request);
  const { store, language } = place;
  const typed = formText(request, 'code');
  const readings = readGivenCode(typed);
  if (!readings.ok) {
    const form = { typed: typed.slice(0, givenCodeLengthMax), error: language.texts.invalid, hasFocus: true };
    return { response: askPage(services, place, { status: 422, form }) };
  }
  const recipient = { store, client: request.client, perHour: lookups.perHour };
  const email = parseEmail(formText(request, 'email'));
  const address = email.ok ? email.value : null;
  const outcome = await storage.write(() =>
    findCardOfRecipient(ctx, recipient, { readings: readings.value, address }),
  );
  if (outcome.kind === 'throttled') {
    const waitMs = (outcome.fault.retryAfterSeconds ?? 1) * 1_000;
    return { response: throttled(askPage(services, place, { notice: language.texts.tooMany }), waitMs) };
  }
  if (outcome.kind === 'missed') {
    for (const cardId of outcome.retired) lookups.recordRetired({ storeId: store.id, cardId });
    for (const lookup of outcome.stocked) lookups.recordTried({ storeId: store.id, lookup });
    return { response: unknownPage(services, { ...place, asksAddress: outcome.asksAddress }) };
  }
  const { card, code, isGenerated } = outcome;
  const [{ isViewed, ...movements }, wallets] = await Promise.all([
    storage.read(() => listShownMovements(card)),
    walletKindsOf(services, store.id),
  ]);
  if (!isViewed) await storage.write(() => recordFirstView(ctx, card));
  return {
    place,
    shown: {
      card,
      code,
      isGenerated,
      address: address?.address ?? null,
      ...movements,
      isOver: isExpired(card, today(ctx, store)),
      wallets,
    },
  };
}

async function find(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const searched = await search(services, request);
  return 'response' in searched
    ? searched.response
    : recipientCardPage(services, searched.place, searched.shown);
}

/** The pass of a card, with the limits of the page; the page itself for a card that cannot be used. */
async function makeApplePass(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const searched = await search(services, request);
  if ('response' in searched) return searched.response;
  const { place, shown } = searched;
  const { card, code, isOver } = shown;
  const token = passToken(services.ctx, { storeId: card.storeId, cardId: card.id }, code);
  const isUsable = !isOver && !isVoid(card, code);
  const content = isUsable
    ? await services.tools.of(walletTool)?.applePass(place.store, { card, code, token })
    : undefined;
  if (!content) return recipientCardPage(services, place, shown);
  return { status: 200, file: { name: 'card.pkpass', type: passType, parts: Readable.from([content]) } };
}

/** Leads to Google Wallet with a card, with the limits of the page; the page itself for a card that cannot be used. */
async function addToGoogle(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const searched = await search(services, request);
  if ('response' in searched) return searched.response;
  const { place, shown } = searched;
  const { card, code, isOver } = shown;
  const isUsable = !isOver && !isVoid(card, code);
  const link = isUsable
    ? await services.tools.of(walletTool)?.googleLink(place.store, { card, code })
    : undefined;
  if (link === undefined || link === 'failed')
    return recipientCardPage(services, place, { ...shown, hasWalletFailed: link === 'failed' });
  return { status: 303, url: link };
}

/** The uploaded logo of the store of a page. */
async function logo(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const { storage, developmentMode } = services;
  const showsDemonstration = developmentMode && request.isLocal;
  const domain = domainOf(request);
  const image = await storage.read(() => findLogoOfPage(domain, { showsDemonstration }));
  if (!image) throw new Fault('not-found');
  return { status: 200, image };
}

/** The routes of a page. `/b` is the page of the first store. */
function routesAt(path: string): readonly OpenRoute[] {
  const common = { access: 'anyone', visitorErrorPage } as const;
  const shown = { ...common, isCompressed: true, leadsToGoogle: true } as const;
  const form = { ...common, method: 'POST', acceptsOtherSites: true } as const;
  return [
    {
      ...shown,
      method: 'GET',
      path,
      handle: async (services, request) => askPage(services, await placeOf(services, request)),
    },
    { ...shown, ...form, path, handle: find },
    { method: 'GET', path: `${path}/logo`, access: 'anyone', handle: logo },
    { ...form, path: `${path}/wallet/apple`, sendsFile: 'other', handle: makeApplePass },
    { ...form, path: `${path}/wallet/google`, leadsToGoogle: true, handle: addToGoogle },
    {
      ...shown,
      method: 'GET',
      path: `${path}/card`,
      handle: async (services, request) =>
        askPage(services, await placeOf(services, request), { opensCard: true }),
    },
  ];
}

export const recipientRoutes: readonly OpenRoute[] = [recipientPath(null), recipientPath(':domain')].flatMap(
  routesAt,
);
