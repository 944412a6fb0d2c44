/** The first run: the shop and its owner, with a link; and the demonstration, for people on this machine. */

import { restoreTool } from '../../backups/pages/tools.ts';
import { emailServerTool } from '../../emails/pages/server-tool.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { undoWindowDefaultMinutes, type Store } from '../../../core/stores/domain/store.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { programCommand } from '../../../platform/program-files.ts';
import { findDemonstration, openDemonstration } from '../../sandbox/service/demonstration-store.ts';
import { passkeySiteOf } from '../../staff/service/passkey.ts';
import {
  findSetupProgress,
  isOpenSetupLink,
  setUp,
  type SetupProgress,
  type SetupShop,
} from '../service/setup.ts';
import { hashClient } from '../../../pages/kit/attempt.ts';
import { sessionCookie } from '../../../pages/kit/cookie.ts';
import { amountValue } from '../../../pages/kit/format.ts';
import { seeOther, type ConsoleResponse, type ConsoleRoute } from '../../../pages/kit/route.ts';
import {
  currencyOptions,
  currencyText,
  parseCurrency,
  suggestedLimit,
  suggestionsOf,
  timeZoneOptions,
} from './setup-choices.ts';
import { localeText } from '../../../pages/kit/locale-text.ts';
import {
  ownerValuesOf,
  readOwner,
  readShop,
  shopFields,
  shopValuesOf,
  type NewShop,
  type OwnerField,
  type OwnerValues,
  type ShopField,
  type ShopValues,
} from './setup-form.ts';
import { alert, inputField, hidden, select, type ErrorsOf } from '../../../pages/kit/form.ts';
import { restorePathOf } from './restore.ts';
import { startSession } from '../../staff/pages/gate/sign-in.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { firstServerPath } from '../../email-server/pages/email-server.ts';
import { purposes, trail, welcomePage } from './welcome.ts';
import { developerLinks } from '../../staff/pages/gate/developer-links.ts';
import { openRoute, type VisitorPage } from '../../../pages/kit/page-context.ts';

/** A form that opens the demonstration, for people on this machine before there is a real store. */
async function demonstrationForm(page: VisitorPage): Promise<Markup | undefined> {
  if (!page.services.developmentMode || !page.request.isLocal) return undefined;
  const found = await page.read(findDemonstration);
  if (!found) return undefined;
  const text = page.text.setup;
  const cards = found.isEmpty
    ? markup`<label class="check"><input type="checkbox" name="cards" value="yes" checked><span>${text.demonstrationCards}</span></label>`
    : undefined;
  return markup`<form class="demonstration" method="post" action="${page.basePath}/demonstration">
<div class="row"><button class="button">${text.demonstration}</button>${cards}</div>
<p class="hint">${text.demonstrationHint}</p></form>`;
}

/** For people without a link that can be used. */
async function lockedPage(
  page: VisitorPage,
  { stores }: SetupProgress,
  problem?: string,
): Promise<ConsoleResponse> {
  const text = page.text.setup;
  const signIn =
    stores.length === 0 ? undefined : markup` <a href="${page.basePath}/sign-in">${text.signIn}</a>`;
  const body = markup`${problem === undefined ? undefined : alert(problem)}
<section class="panel stack" aria-labelledby="get-link"><h2 id="get-link">${text.getLink}</h2><p>${text.getLinkHow}</p>
<p class="copy">${`${programCommand} setup link`}</p><p class="hint">${text.linkLasts}</p></section>
${await demonstrationForm(page)}`;
  return {
    status: problem === undefined ? 200 : 404,
    body: welcomePage(page, {
      title: text.welcome,
      lead: text.leadLocked,
      body,
      top: markup`<span class="row">${await developerLinks(page.services, page.request)}${signIn}</span>`,
      after: purposes(page.language, page.basePath),
    }),
  };
}

/** For a shop that moves here; undefined: the database is on a server. */
function backupLink(page: VisitorPage): Markup | undefined {
  if (!page.services.tools.of(restoreTool)) return undefined;
  return markup`<p><a href="${page.url(restorePathOf(page.param('token')))}">${page.text.setup.haveBackup}</a></p>
`;
}

type ShopForm = { readonly values: ShopValues; readonly errors: ErrorsOf<ShopField> };

function suggestedShop(page: VisitorPage): ShopValues {
  const serverZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const suggested = suggestionsOf(page.request.acceptLanguage, {
    locales: page.services.emailLocales,
    language: page.language,
    serverZone,
  });
  const currency = parseCurrency(suggested.currency, page.language);
  return {
    shop: '',
    currency: currency ? currencyText(currency, page.language) : '',
    time_zone: suggested.timeZone,
    locale: suggested.locale,
    limit: currency ? amountValue(suggestedLimit(currency), page.language) : '2000',
    domain: '',
  };
}

async function shopPage(page: VisitorPage, { values, errors }: ShopForm): Promise<ConsoleResponse> {
  const text = page.text.setup;
  const isSuggested = page.request.method === 'GET';
  const locales = page.services.emailLocales.map((tag) => ({
    value: tag,
    text: localeText(tag, page.language),
  }));
  const hasErrors = Object.keys(errors).length > 0;
  const currency = parseCurrency(values.currency, page.language);
  const body = markup`${backupLink(page)}<form class="grid" method="post" action="${page.basePath}/setup/${page.param('token')}"${isSuggested ? markup` data-suggests` : undefined}>
${hasErrors ? alert(text.errors) : undefined}
${inputField({ name: 'shop', label: text.shopName, value: values.shop, autocomplete: 'organization', error: errors.shop, hasFocus: !hasErrors })}
<div class="fields">${inputField({ name: 'currency', label: text.currency, value: values.currency, options: currencyOptions(page.language), hint: text.currencyHint, error: errors.currency })}
${inputField({ name: 'time_zone', label: text.timeZone, value: values.time_zone, options: timeZoneOptions(), hint: text.timeZoneHint, error: errors.time_zone })}
${select({ name: 'locale', label: text.emailLanguage, value: values.locale, options: locales, error: errors.locale })}
${inputField({ name: 'limit', label: text.limit, value: values.limit, inputMode: 'decimal', isOptional: true, hint: text.limitHint, error: errors.limit })}</div>
${inputField({ name: 'domain', label: text.domain, value: values.domain, autocomplete: 'url', isOptional: true, hint: text.domainHint, error: errors.domain })}
<p class="hint">${fillPlain(text.undoHint, { count: String(undoWindowDefaultMinutes) })}</p>
<div class="row"><button class="button first">${text.toYou}</button></div></form>
${await demonstrationForm(page)}`;
  return {
    status: hasErrors ? 422 : 200,
    body: welcomePage(page, {
      title: text.welcome,
      lead: text.lead,
      body,
      top: markup`<span class="row">${await developerLinks(page.services, page.request)}</span>${trail(page.language, 'shop')}`,
      aside: markup`<p class="hint">${text.caption}</p>`,
      after: purposes(page.language, page.basePath),
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

function ownerPage(page: VisitorPage, { shop, stores, values, errors }: OwnerForm): ConsoleResponse {
  const text = page.text.setup;
  const path = `${page.basePath}/setup/${page.param('token')}`;
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
${signInFields(page, values, errors)}
<div class="row"><button class="button first">${text.create}</button>${back ?? undefined}</div></form>`;
  const name = shop ? shop.made.name : only?.name;
  const currency = shop ? shop.made.currency : only?.currency;
  const shown = currency && !choice ? { shown: { shop: name ?? '', currency } } : {};
  return {
    status: hasErrors ? 422 : 200,
    body: welcomePage(page, {
      title: text.you,
      lead: choice ? text.youLeadOther : fillPlain(text.youLead, { shop: name ?? '' }),
      body,
      top: shop ? trail(page.language, 'you') : undefined,
      aside: lostPanel(page),
      ...shown,
    }),
  };
}

/** The way in which the owner signs in from now on. A passkey is created on the next page, with the link to join. */
function signInFields(page: VisitorPage, { how }: OwnerValues, errors: ErrorsOf<OwnerField>): Markup {
  const text = page.text.setup;
  const hasPasskeys = passkeySiteOf(page.request.pageOrigin) !== undefined;
  const password = inputField({
    name: 'password',
    label: text.password,
    type: 'password',
    autocomplete: 'new-password',
    hint: page.text.gate.newPasswordHint,
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

function lostPanel(page: VisitorPage): Markup {
  const text = page.text.setup;
  return markup`<section class="panel stack" aria-labelledby="lost"><h2 id="lost">${text.lostTitle}</h2><p class="soft">${text.lost}</p><p class="copy">${`${programCommand} staff invite ada@flowers.example`}</p></section>`;
}

type Step = (
  page: VisitorPage,
  progress: SetupProgress & { readonly token: string },
) => ConsoleResponse | Promise<ConsoleResponse>;

/** A page of the first run: only for a link that can be used. */
function withLink(step: Step): (page: VisitorPage) => Promise<ConsoleResponse> {
  return async (page) => {
    const token = page.param('token');
    const isOpen = await page.read(() => isOpenSetupLink(page.ctx, token));
    const progress = await page.read(findSetupProgress);
    if (isOpen) return await step(page, { ...progress, token });
    return progress.hasOwner ? seeOther('/') : await lockedPage(page, progress, page.text.setup.linkEnded);
  };
}

/** Reads the shop of the form; a response if it has errors. */
async function readTypedShop(page: VisitorPage): Promise<NonNullable<OwnerForm['shop']> | ConsoleResponse> {
  const values = shopValuesOf(page.request);
  const read = readShop(values, page.services, page.language);
  return read.ok ? { values, made: read.value } : await shopPage(page, { values, errors: read.errors });
}

const createOwner: Step = async (page, { stores, token }) => {
  const text = page.text.setup;
  const values = ownerValuesOf(page.request);
  const typed = page.request.form.has('shop') ? await readTypedShop(page) : null;
  if (typed && 'status' in typed) return typed;
  const [only, ...others] = stores;
  const existing = others.length === 0 ? only : stores.find(({ domain }) => domain === values.store);
  const shown = { shop: typed, stores, values };
  const chosen = typed?.made.shop.settings ?? existing;
  if (!chosen) {
    if (stores.length > 0) return ownerPage(page, { ...shown, errors: { store: text.shopInvalid } });
    return seeOther(`/setup/${token}`);
  }
  const read = readOwner(page.request, values, [chosen.name, chosen.domain]);
  if (!read.ok) return ownerPage(page, { ...shown, errors: read.errors });
  const { name, email, password: plain } = read.value;
  const password =
    plain === null ? null : await page.services.passwords.hash(hashClient(page.request, 'setup link'), plain);
  const shop: SetupShop = typed ? typed.made.shop : { domain: chosen.domain };
  try {
    const done = await page.write(() => setUp(page.ctx, { token, shop, name, email, password }));
    switch (done.result) {
      case 'joined':
        return await startSession(page, {
          member: done.owner,
          method: 'link',
          next:
            page.services.tools.of(emailServerTool).rule !== 'operator' && !page.services.canSend
              ? firstServerPath
              : '/cards/new',
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
      return await shopPage(page, {
        values: typed.values,
        errors: { domain: text.domainTaken },
      });
    return ownerPage(page, { ...shown, errors: { email: text.emailTaken } });
  }
};

export const setupRoutes: readonly ConsoleRoute[] = [
  openRoute('GET', '/setup', async (page) => {
    const progress = await page.read(findSetupProgress);
    return progress.hasOwner ? seeOther('/') : await lockedPage(page, progress);
  }),
  openRoute(
    'GET',
    '/setup/:token',
    withLink((page, { stores }) =>
      stores.length > 0
        ? ownerPage(page, { shop: null, stores, ...noOwner })
        : shopPage(page, { values: suggestedShop(page), errors: {} }),
    ),
  ),
  openRoute(
    'POST',
    '/setup/:token',
    withLink(async (page, { stores, token }) => {
      if (stores.length > 0) return seeOther(`/setup/${token}`);
      const shop = await readTypedShop(page);
      return 'status' in shop ? shop : ownerPage(page, { shop, stores, ...noOwner });
    }),
  ),
  openRoute(
    'POST',
    '/setup/:token/back',
    withLink((page, { stores, token }) =>
      stores.length > 0
        ? seeOther(`/setup/${token}`)
        : shopPage(page, { values: shopValuesOf(page.request), errors: {} }),
    ),
  ),
  openRoute('POST', '/setup/:token/owner', withLink(createOwner)),
  openRoute('POST', '/demonstration', async (page) => {
    if (!page.services.developmentMode || !page.request.isLocal) throw new Fault('not-found');
    const withCards = page.request.form.get('cards') === 'yes';
    const trustedUntil = await page.services.condition.trustedUntil();
    const opened = await page.write(() =>
      openDemonstration(page.ctx, { userAgent: page.request.userAgent, withCards, trustedUntil }),
    );
    return opened
      ? seeOther('/', [sessionCookie({ ctx: page.ctx, origin: page.services.origin }, opened)])
      : seeOther('/setup');
  }),
];
