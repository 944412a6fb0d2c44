/** The first run: the shop and its owner, with a link; and the demonstration, for people on this machine. */

import { Fault } from '../../domain/fault.ts';
import { undoWindowDefaultMinutes, type Store } from '../../domain/stores/store.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { programCommand } from '../../platform/program-files.ts';
import { findDemonstration, openDemonstration } from '../../service/stores/demonstration-store.ts';
import { passkeySiteOf } from '../../service/staff/passkey.ts';
import {
  findSetupProgress,
  isOpenSetupLink,
  setUp,
  type SetupProgress,
  type SetupShop,
} from '../../service/stores/setup.ts';
import { hashClient } from '../kit/attempt.ts';
import { sessionCookie } from '../kit/cookie.ts';
import { alert, inputField, hidden, select } from '../kit/form.ts';
import { amountValue } from '../kit/format.ts';
import type { ConsoleRequest } from '../kit/request.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleRoute,
  type ConsoleServices,
  type OpenRoute,
} from '../kit/route.ts';
import {
  currencyOptions,
  currencyText,
  localeText,
  parseCurrency,
  suggestedLimit,
  suggestionsOf,
  timeZoneOptions,
} from './setup-choices.ts';
import {
  gate,
  ownerValuesOf,
  readOwner,
  readShop,
  shopFields,
  shopValuesOf,
  type ErrorsOf,
  type NewShop,
  type OwnerField,
  type OwnerValues,
  type ShopField,
  type ShopValues,
} from './setup-form.ts';
import { startSession } from './sign-in.ts';
import { fillPlain } from '../kit/texts.ts';
import { firstServerPath } from '../settings/email-server.ts';
import { developerLinks, purposes, setupTexts, trail, welcomePage } from './welcome.ts';

/** A form that opens the demonstration, for people on this machine before there is a real store. */
async function demonstrationForm(
  { storage, developmentMode, frame }: ConsoleServices,
  { isLocal, language }: ConsoleRequest,
): Promise<Markup | undefined> {
  if (!developmentMode || !isLocal) return undefined;
  const found = await storage.read(findDemonstration);
  if (!found) return undefined;
  const text = setupTexts[language];
  const cards = found.isEmpty
    ? markup`<label class="check"><input type="checkbox" name="cards" value="yes" checked><span>${text.demonstrationCards}</span></label>`
    : undefined;
  return markup`<form class="demonstration" method="post" action="${frame.basePath}/demonstration">
<div class="row"><button class="button">${text.demonstration}</button>${cards}</div>
<p class="hint">${text.demonstrationHint}</p></form>`;
}

/** For people without a link that can be used. */
async function lockedPage(
  services: ConsoleServices,
  request: ConsoleRequest,
  { stores }: SetupProgress,
  problem?: string,
): Promise<ConsoleResponse> {
  const { language } = request;
  const { basePath } = services.frame;
  const text = setupTexts[language];
  const signIn = stores.length === 0 ? undefined : markup` <a href="${basePath}/sign-in">${text.signIn}</a>`;
  const body = markup`${problem === undefined ? undefined : alert(problem)}
<section class="panel stack" aria-labelledby="get-link"><h2 id="get-link">${text.getLink}</h2><p>${text.getLinkHow}</p>
<p class="copy">${`${programCommand} setup link`}</p><p class="hint">${text.linkLasts}</p></section>
${await demonstrationForm(services, request)}`;
  return {
    status: problem === undefined ? 200 : 404,
    body: welcomePage(services, request, {
      title: text.welcome,
      lead: text.leadLocked,
      body,
      top: markup`<span class="row">${await developerLinks(services, request)}${signIn}</span>`,
      after: purposes(language, basePath),
    }),
  };
}

type ShopForm = { readonly values: ShopValues; readonly errors: ErrorsOf<ShopField> };

function suggestedShop({ emailLocales }: ConsoleServices, request: ConsoleRequest): ShopValues {
  const { language, acceptLanguage } = request;
  const serverZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const suggested = suggestionsOf(acceptLanguage, { locales: emailLocales, language, serverZone });
  const currency = parseCurrency(suggested.currency, language);
  return {
    shop: '',
    currency: currency ? currencyText(currency, language) : '',
    time_zone: suggested.timeZone,
    locale: suggested.locale,
    limit: currency ? amountValue(suggestedLimit(currency), language) : '2000',
    domain: '',
  };
}

async function shopPage(
  services: ConsoleServices,
  request: ConsoleRequest,
  { values, errors }: ShopForm,
): Promise<ConsoleResponse> {
  const { frame, emailLocales } = services;
  const { language, params, method } = request;
  const text = setupTexts[language];
  const isSuggested = method === 'GET';
  const locales = emailLocales.map((tag) => ({ value: tag, text: localeText(tag, language) }));
  const hasErrors = Object.keys(errors).length > 0;
  const currency = parseCurrency(values.currency, language);
  const body = markup`<form class="grid" method="post" action="${frame.basePath}/setup/${params['token'] ?? ''}"${isSuggested ? markup` data-suggests` : undefined}>
${hasErrors ? alert(text.errors) : undefined}
${inputField({ name: 'shop', label: text.shopName, value: values.shop, autocomplete: 'organization', error: errors.shop, hasFocus: !hasErrors })}
<div class="fields">${inputField({ name: 'currency', label: text.currency, value: values.currency, options: currencyOptions(language), hint: text.currencyHint, error: errors.currency })}
${inputField({ name: 'time_zone', label: text.timeZone, value: values.time_zone, options: timeZoneOptions(), hint: text.timeZoneHint, error: errors.time_zone })}
${select({ name: 'locale', label: text.emailLanguage, value: values.locale, options: locales, error: errors.locale })}
${inputField({ name: 'limit', label: text.limit, value: values.limit, inputMode: 'decimal', isOptional: true, hint: text.limitHint, error: errors.limit })}</div>
${inputField({ name: 'domain', label: text.domain, value: values.domain, autocomplete: 'url', isOptional: true, hint: text.domainHint, error: errors.domain })}
<p class="hint">${fillPlain(text.undoHint, { count: String(undoWindowDefaultMinutes) })}</p>
<div class="row"><button class="button first">${text.toYou}</button></div></form>
${await demonstrationForm(services, request)}`;
  return {
    status: hasErrors ? 422 : 200,
    body: welcomePage(services, request, {
      title: text.welcome,
      lead: text.lead,
      body,
      top: markup`<span class="row">${await developerLinks(services, request)}</span>${trail(language, 'shop')}`,
      aside: markup`<p class="hint">${text.caption}</p>`,
      after: purposes(language, frame.basePath),
      ...(currency && { shown: { shop: values.shop, currency } }),
    }),
  };
}

type OwnerForm = {
  /** Null: a store exists. */
  readonly shop: { readonly values: ShopValues; readonly made: NewShop } | null;
  readonly stores: readonly Store[];
  readonly values: OwnerValues;
  readonly errors: ErrorsOf<OwnerField>;
};

const noOwner: Pick<OwnerForm, 'values' | 'errors'> = {
  values: { name: '', email: '', store: '', how: 'passkey' },
  errors: {},
};

function ownerPage(
  services: ConsoleServices,
  request: ConsoleRequest,
  { shop, stores, values, errors }: OwnerForm,
): ConsoleResponse {
  const { language, params } = request;
  const text = setupTexts[language];
  const path = `${services.frame.basePath}/setup/${params['token'] ?? ''}`;
  const hasErrors = Object.keys(errors).length > 0;
  const [only, ...others] = stores;
  const options = stores.map(({ domain, name }) => ({ value: domain, text: `${name} (${domain})` }));
  const choice =
    shop || others.length === 0
      ? undefined
      : select({ name: 'store', label: text.shop, value: values.store, options, error: errors.store });
  const kept = shop && shopFields.map((name) => hidden(name, shop.values[name]));
  // The first button of a form is pressed by the Enter key, so this one comes last.
  const back =
    shop &&
    markup`<button class="button quiet" formaction="${path}/back" formnovalidate>${text.back}</button>`;
  const body = markup`<form class="grid" method="post" action="${path}/owner">
${hasErrors ? alert(text.errors) : undefined}
${kept ?? undefined}${choice}
<div class="fields">${inputField({ name: 'name', label: text.yourName, value: values.name, autocomplete: 'name', error: errors.name, hasFocus: !hasErrors })}
${inputField({ name: 'email', label: text.yourEmail, type: 'email', value: values.email, autocomplete: 'username', error: errors.email })}</div>
${signInFields(request, values, errors)}
<div class="row"><button class="button first">${text.create}</button>${back ?? undefined}</div></form>`;
  const name = shop ? shop.made.name : only?.name;
  const currency = shop ? shop.made.currency : only?.currency;
  const shown = currency && !choice ? { shown: { shop: name ?? '', currency } } : {};
  return {
    status: hasErrors ? 422 : 200,
    body: welcomePage(services, request, {
      title: text.you,
      lead: choice ? text.youLeadOther : fillPlain(text.youLead, { shop: name ?? '' }),
      body,
      top: shop ? trail(language, 'you') : undefined,
      aside: lostPanel(request),
      ...shown,
    }),
  };
}

/** How the owner signs in from now on. A passkey is created on the next page, with the link to join. */
function signInFields(
  { language, pageOrigin }: ConsoleRequest,
  { how }: OwnerValues,
  errors: ErrorsOf<OwnerField>,
): Markup {
  const text = setupTexts[language];
  const hasPasskeys = passkeySiteOf(pageOrigin) !== undefined;
  const password = inputField({
    name: 'password',
    label: text.password,
    type: 'password',
    autocomplete: 'new-password',
    hint: gate[language].newPasswordHint,
    error: errors.password,
    isOptional: hasPasskeys,
  });
  if (!hasPasskeys) return password;
  const checked = (each: OwnerValues['how']): Markup | undefined =>
    each === how ? markup` checked` : undefined;
  return markup`<fieldset><legend>${text.how}</legend><div class="choices down">
<label class="choice rows"><input type="radio" name="how" value="passkey"${checked('passkey')}><span>${text.withPasskey}</span><span class="soft">${text.withPasskeyHint}</span></label>
<label class="choice rows opens"><input type="radio" name="how" value="password"${checked('password')}><span>${text.withPassword}</span><span class="soft">${text.withPasswordHint}</span></label>
<div class="shown-if-chosen">${password}</div></div></fieldset>`;
}

function lostPanel({ language }: ConsoleRequest): Markup {
  const text = setupTexts[language];
  return markup`<section class="panel stack" aria-labelledby="lost"><h2 id="lost">${text.lostTitle}</h2><p class="soft">${text.lost}</p><p class="copy">${`${programCommand} staff invite ada@flowers.example`}</p></section>`;
}

type Step = (
  services: ConsoleServices,
  request: ConsoleRequest,
  progress: SetupProgress & { readonly token: string },
) => ConsoleResponse | Promise<ConsoleResponse>;

/** A page of the first run: only for a link that can be used. */
function withLink(step: Step): OpenRoute['handle'] {
  return async (services, request) => {
    const { ctx, storage } = services;
    const token = request.params['token'] ?? '';
    const isOpen = await storage.read(() => isOpenSetupLink(ctx, token));
    const progress = await services.storage.read(findSetupProgress);
    if (isOpen) return await step(services, request, { ...progress, token });
    if (progress.hasOwner) return seeOther('/');
    return await lockedPage(services, request, progress, setupTexts[request.language].linkEnded);
  };
}

/** Reads the shop of the form; a response if it has errors. */
async function readTypedShop(
  services: ConsoleServices,
  request: ConsoleRequest,
): Promise<NonNullable<OwnerForm['shop']> | ConsoleResponse> {
  const values = shopValuesOf(request);
  const read = readShop(values, services, request.language);
  return read.ok
    ? { values, made: read.value }
    : await shopPage(services, request, { values, errors: read.errors });
}

const createOwner: Step = async (services, request, { stores, token }) => {
  const { ctx, storage, passwords } = services;
  const text = setupTexts[request.language];
  const values = ownerValuesOf(request);
  const typed = request.form.has('shop') ? await readTypedShop(services, request) : null;
  if (typed && 'status' in typed) return typed;
  const [only, ...others] = stores;
  const existing = others.length === 0 ? only : stores.find(({ domain }) => domain === values.store);
  const shown = { shop: typed, stores, values };
  const chosen = typed?.made.shop.settings ?? existing;
  if (!chosen) {
    if (stores.length > 0)
      return ownerPage(services, request, { ...shown, errors: { store: text.shopInvalid } });
    return seeOther(`/setup/${token}`);
  }
  const read = readOwner(request, values, [chosen.name, chosen.domain]);
  if (!read.ok) return ownerPage(services, request, { ...shown, errors: read.errors });
  const { name, email, password: plain } = read.value;
  const password = plain === null ? null : await passwords.hash(hashClient(request, 'setup link'), plain);
  const shop: SetupShop = typed ? typed.made.shop : { domain: chosen.domain };
  try {
    const done = await storage.write(() => setUp(ctx, { token, shop, name, email, password }));
    switch (done.result) {
      case 'joined':
        return await startSession(services, request, {
          member: done.owner,
          method: 'link',
          next:
            services.serverTools.rule !== 'operator' && !services.canSend ? firstServerPath : '/cards/new',
        });
      case 'invited':
        return seeOther(`/join/${done.link.reveal()}`);
      case 'link-ended':
        return seeOther('/');
      case 'store-exists':
        return seeOther(`/setup/${token}`);
    }
  } catch (error) {
    if (!(error instanceof Fault) || !error.errors) throw error;
    if (typed && error.errors['domain'])
      return await shopPage(services, request, {
        values: typed.values,
        errors: { domain: text.domainTaken },
      });
    return ownerPage(services, request, { ...shown, errors: { email: text.emailTaken } });
  }
};

export const setupRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/setup',
    access: 'anyone',
    async handle(services, request) {
      const progress = await services.storage.read(findSetupProgress);
      return progress.hasOwner ? seeOther('/') : await lockedPage(services, request, progress);
    },
  },
  {
    method: 'GET',
    path: '/setup/:token',
    access: 'anyone',
    handle: withLink((services, request, { stores }) =>
      stores.length > 0
        ? ownerPage(services, request, { shop: null, stores, ...noOwner })
        : shopPage(services, request, { values: suggestedShop(services, request), errors: {} }),
    ),
  },
  {
    method: 'POST',
    path: '/setup/:token',
    access: 'anyone',
    handle: withLink(async (services, request, { stores, token }) => {
      if (stores.length > 0) return seeOther(`/setup/${token}`);
      const shop = await readTypedShop(services, request);
      return 'status' in shop ? shop : ownerPage(services, request, { shop, stores, ...noOwner });
    }),
  },
  {
    method: 'POST',
    path: '/setup/:token/back',
    access: 'anyone',
    handle: withLink((services, request, { stores, token }) =>
      stores.length > 0
        ? seeOther(`/setup/${token}`)
        : shopPage(services, request, { values: shopValuesOf(request), errors: {} }),
    ),
  },
  { method: 'POST', path: '/setup/:token/owner', access: 'anyone', handle: withLink(createOwner) },
  {
    method: 'POST',
    path: '/demonstration',
    access: 'anyone',
    async handle({ ctx, storage, developmentMode, origin, condition }, { isLocal, userAgent, form }) {
      if (!developmentMode || !isLocal) throw new Fault('not-found');
      const withCards = form.get('cards') === 'yes';
      const trustedUntil = await condition.trustedUntil();
      const opened = await storage.write(() =>
        openDemonstration(ctx, { userAgent, withCards, trustedUntil }),
      );
      return opened ? seeOther('/', [sessionCookie({ ctx, origin }, opened)]) : seeOther('/setup');
    },
  },
];
