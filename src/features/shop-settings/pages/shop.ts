/** The shop as its customers see it: name, logo, color, and how to reach it, with a preview of where it appears. */

import { emailTool, type EmailTools } from '../../emails/pages/tools.ts';
import { parseSenderAddress } from '../../../core/domain/email-address.ts';
import { designOf } from '../../../core/cards/domain/design.ts';
import { defaultEmailSettings, type EmailSettings } from '../../../core/emails/domain/email.ts';
import type { Logo } from '../../../core/stores/domain/logo.ts';
import {
  parseOpeningHours,
  parseLink,
  parsePhone,
  type Identity,
} from '../../../core/stores/domain/identity.ts';
import type { Settings } from '../domain/settings.ts';
import { parseStoreName } from '../../../core/stores/domain/store.ts';
import { rejected, type Parsed } from '../../../platform/parsed.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { findLogo } from '../service/settings-of-store.ts';
import { setupTexts } from '../../setup/pages/welcome.ts';
import { designName, fieldLabel, shownOf } from '../../card-pages/pages/fields.ts';
import { designChoice } from '../../../pages/kit/gift.ts';
import { inputField, textArea, type ErrorsOf } from '../../../pages/kit/form.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { typedFields } from '../../../pages/kit/request.ts';
import type { PageResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { catalogue, fillPlain, type PageLanguage } from '../../../pages/kit/texts.ts';
import { rejectedPreview } from '../../emails/pages/settings/email-preview.ts';
import {
  legibilityLine,
  legibilityOf,
  legibilityPath,
  withHash,
} from '../../emails/pages/settings/legibility.ts';
import {
  logoFormBytesMax,
  logoPanel,
  logoPath,
  logoTooLarge,
  removeLogo,
  submitLogo,
} from '../../emails/pages/settings/logo.ts';
import {
  baseOf,
  fieldOf,
  formStart,
  pageOfSettings,
  readSettings,
  rejectedForm,
  saveSettings,
  settingsTexts,
  type ShownForm,
} from './page.ts';
import { accountantPath } from '../../accountants/pages/paths.ts';
import { saleSettingsPath } from '../../online-sales/pages/settings/change.ts';
import { backupsPath } from '../../backups/pages/recovery-sheet.ts';
import { previewBytesMax, shopPreview, shopPreviewPanel } from './shop-preview.ts';
import { versionsPath } from '../../upgrade/pages/versions.ts';
import { walletsPath } from '../../wallets/pages/settings.ts';

const fields = ['name', 'color', 'design', 'website', 'phone', 'reply_to', 'hours', 'terms'] as const;

type Field = (typeof fields)[number];
type Values = Readonly<Record<Field, string>>;

function valuesOf({ store, emails }: Settings): Values {
  return {
    name: store.name,
    color: emails.colour ?? '',
    design: emails.design,
    website: emails.website ?? '',
    phone: emails.phone ?? '',
    reply_to: emails.replyTo ?? '',
    hours: emails.hours ?? '',
    terms: emails.terms ?? '',
  };
}

const typedLengthMax = 4_000;

/** People leave out the protocol of a website. */
function withProtocol(typed: string): string {
  return /^[a-z][a-z\d+.-]*:/i.test(typed) && !/^[^/]*:\d/.test(typed) ? typed : `https://${typed}`;
}

/** The identity, and the design of cards that have none. */
type Appearance = Identity & Pick<EmailSettings, 'design'>;

type Read =
  | { readonly ok: true; readonly name: string; readonly identity: Appearance }
  | { readonly ok: false; readonly errors: ErrorsOf<Field> };

function readIdentity(values: Values, emailTools: EmailTools, language: PageLanguage): Read {
  const { identityErrors } = settingsTexts[language];
  const setup = setupTexts[language];
  const errors: Partial<Record<Field, string>> = {};
  const name = parseStoreName(values.name);
  if (!name.ok) errors.name = values.name === '' ? setup.nameMissing : setup.nameInvalid;
  const read = (
    field: keyof typeof identityErrors,
    parse: (text: string) => Parsed<string>,
  ): string | null => {
    const typed = values[field];
    if (typed === '') return null;
    const parsed = typed.length > typedLengthMax ? rejected('') : parse(typed);
    if (parsed.ok) return parsed.value;
    errors[field] = identityErrors[field];
    return null;
  };
  const identity: Appearance = {
    colour: read('color', (typed) => emailTools.parseColor(withHash(typed))),
    website: read('website', (typed) => parseLink(withProtocol(typed))),
    phone: read('phone', parsePhone),
    replyTo: read('reply_to', parseSenderAddress),
    hours: read('hours', parseOpeningHours),
    terms: read('terms', (typed) => parseLink(withProtocol(typed))),
    design: designOf(values.design, defaultEmailSettings.design),
  };
  return name.ok && Object.keys(errors).length === 0
    ? { ok: true, name: name.value, identity }
    : { ok: false, errors };
}

const previewPath = '/settings/preview';

/** Other pages about the shop that have no link in the navigation. */
function furtherPages(page: Page): Markup {
  const { accountant, backups, saleSettings, versions, wallets } = page.text;
  const link = (path: string, title: string): Markup =>
    markup`<a class="button quiet" href="${page.basePath}${path}">${title}</a>`;
  return markup`<nav class="row" aria-label="${page.text.settings.further}">${link(saleSettingsPath, saleSettings.title)}${link(backupsPath, backups.title)}${link(walletsPath, wallets.title)}${link(accountantPath, accountant.title)}${link(versionsPath, versions.title)}${link('/settings/locations', catalogue[page.language].locations.title)}</nav>`;
}

type Outside = {
  readonly logo: Logo | null;
  /** At the field of the file. */
  readonly logoError?: string;
};

function shopPage(page: Page, form: ShownForm<Field>, { logo, logoError }: Outside): PageResponse {
  const text = page.text.settings;
  const emailTools = page.services.tools.of(emailTool);
  const field = (...of: readonly [name: Field, label: string, hint?: string]) =>
    fieldOf(form, page.language, of);
  const typedColor = form.values.color === '' ? null : withHash(form.values.color);
  const standard = fillPlain(text.colorHint, { color: emailTools.legibilityOf(null).colour });
  const picker = markup`<input type="color" class="field" aria-label="${text.pickColor}" data-picks="color" value="${emailTools.legibilityOf(typedColor).colour}" hidden>`;
  // The frame has the stored settings until the script updates it.
  const hasTyped = Object.keys(form.errors).length > 0 || form.notice !== undefined;
  const design = designChoice(page.services.frame, {
    legend: fieldLabel('design', page.language),
    chosen: form.values.design,
    nameOf: (each) => designName(each, page.language),
    hint:
      form.now && form.now.design !== form.values.design
        ? fillPlain(text.now, { value: shownOf('design', form.now.design, page.language) })
        : text.designHint,
  });
  const optional = (type: 'text' | 'url' | 'tel' | 'email', ...of: Parameters<typeof field>): Markup =>
    inputField({ ...field(...of), type, isOptional: true });
  const body = markup`<div class="grid two"><div class="stack"><form class="stack" id="shop-settings" method="post" action="${page.basePath}/settings" data-previews="${hasTyped ? 'now' : 'later'}">${formStart(page, form)}
<section class="panel stack" aria-labelledby="shop"><h2 id="shop">${text.shop}</h2>
${inputField({ ...field('name', text.name), autocomplete: 'organization' })}
<div class="picks">${optional('text', 'color', text.color, standard)}${picker}</div>
${legibilityLine(page.services, form.values.color, page.language)}
${design}</section>
<section class="panel stack" aria-labelledby="reach"><h2 id="reach">${text.reach}</h2><p class="soft">${text.reachHint}</p>
<div class="fields">${optional('text', 'website', text.website, text.websiteHint)}
${optional('tel', 'phone', text.phone, text.phoneHint)}
${optional('email', 'reply_to', text.replyTo, text.replyToHint)}
${optional('text', 'terms', text.terms, text.termsHint)}</div>
${textArea(field('hours', text.hours, text.hoursHint))}</section>
<div class="row"><button class="button first">${text.save}</button></div></form>
${logoPanel(page, { logo, error: logoError })}
${furtherPages(page)}</div>
${shopPreviewPanel(page, { form: 'shop-settings', path: previewPath })}</div>`;
  const shown = pageOfSettings(page, { area: 'shop', form, body, scripts: ['preview.js', 'logo.js'] });
  return logoError === undefined ? shown : { ...shown, status: 422 };
}

async function logoOf(page: Page): Promise<Logo | null> {
  return await page.read(() => findLogo(page.store.id));
}

async function presentPage(page: Page, outside: Omit<Outside, 'logo'> = {}): Promise<PageResponse> {
  const settings = await readSettings(page);
  const logo = await logoOf(page);
  const form = { values: valuesOf(settings), errors: {}, base: baseOf('shop', settings) };
  return shopPage(page, form, { ...outside, logo });
}

export const shopSettingsRoutes: readonly StaffRoute[] = [
  get('/settings', 'changeSettings', (page) => presentPage(page), { hasFrame: true }),
  post(
    '/settings',
    'changeSettings',
    async (page) => {
      const values = typedFields(page.request, fields, valuesOf(await readSettings(page)));
      const logo = await logoOf(page);
      const made = (form: ShownForm<Field>) => shopPage(page, form, { logo });
      const shown = { area: 'shop', values, page: made } as const;
      const read = readIdentity(values, page.services.tools.of(emailTool), page.language);
      if (!read.ok) return await rejectedForm(page, shown, read.errors);
      const { name, identity } = read;
      return await saveSettings(page, { ...shown, changes: { name }, emailChanges: identity, valuesOf });
    },
    { hasFrame: true },
  ),
  get(previewPath, 'changeSettings', async (page) => {
    const { store, emails: settings, texts } = await readSettings(page);
    return await shopPreview(page, { name: store.name, settings, texts });
  }),
  post(
    previewPath,
    'changeSettings',
    async (page) => {
      const present = await readSettings(page);
      const values = typedFields(page.request, fields, valuesOf(present));
      const read = readIdentity(values, page.services.tools.of(emailTool), page.language);
      if (!read.ok) return rejectedPreview(page.language, Object.values(read.errors));
      const { texts, emails } = present;
      const settings = { ...emails, ...read.identity };
      return await shopPreview(page, { name: read.name, settings, texts });
    },
    { formBytesMax: previewBytesMax },
  ),
  get(legibilityPath, 'changeSettings', (page) => {
    const typed = (page.request.query.get('color') ?? '').trim();
    const found = legibilityOf(page.services.tools.of(emailTool), typed, page.language);
    return Promise.resolve({ status: 200, json: found ?? {} });
  }),
  post(
    logoPath,
    'changeSettings',
    (page) => submitLogo(page, (logoError) => presentPage(page, { logoError })),
    {
      hasFrame: true,
      acceptsFile: true,
      formBytesMax: logoFormBytesMax,
      tooLarge: (page) => presentPage(page, { logoError: logoTooLarge(page) }),
    },
  ),
  post(
    `${logoPath}/remove`,
    'changeSettings',
    (page) => removeLogo(page, (logoError) => presentPage(page, { logoError })),
    { hasFrame: true },
  ),
];
