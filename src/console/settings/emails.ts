/** The settings of the emails: brand, sender, language and reminders, with a preview of each kind of email. */

import { designOf } from '../../domain/cards/design.ts';
import { parseSenderAddress } from '../../domain/email-address.ts';
import { parseReminderDays, type EmailSettings } from '../../domain/emails/email.ts';
import { accepted, rejected, type Parsed } from '../../platform/parsed.ts';
import type { Logo } from '../../domain/emails/logo.ts';
import type { Settings } from '../../domain/stores/settings.ts';
import { parseStoreName } from '../../domain/stores/store.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { findLogo } from '../../service/stores/settings.ts';
import { reserveTestEmail } from '../../service/emails/test-email.ts';
import { kindOf, legibilityText, previewOf, previewPanel, rejectedPreview } from './email-preview.ts';
import { keptNotice } from '../emails/texts.ts';
import { alert, inputField, select } from '../kit/form.ts';
import { keyInput } from '../kit/once.ts';
import { typedFields } from '../kit/request.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type ConsoleServices,
  type EmailTools,
  type PageResponse,
  type StaffRoute,
} from '../kit/route.ts';
import { localeText } from '../gate/setup-choices.ts';
import type { ErrorsOf } from '../gate/setup-form.ts';
import { logoFormBytesMax, logoPanel, logoPath, logoTooLarge, removeLogo, submitLogo } from './logo.ts';
import {
  baseOf,
  checkField,
  fieldOf,
  formStart,
  readSettings,
  rejectedForm,
  saveSettings,
  pageOfSettings,
  settingsTexts,
  type ShownForm,
} from './page.ts';
import { catalogue, fillPlain, type PageLanguage } from '../kit/texts.ts';
import { designName, fieldLabel, shownOf } from '../cards/fields.ts';
import { designChoice } from '../kit/gift.ts';
import { emailServerPath } from './email-server.ts';
import { get, post, type Page } from '../kit/page-context.ts';

const fields = [
  'emails',
  'from_name',
  'from_address',
  'reply_to',
  'logo',
  'color',
  'design',
  'email_language',
  'region',
  'page',
  'expiry_reminders',
  'balance_reminders',
  'notify_failures',
] as const;

type Field = (typeof fields)[number];
type Values = Readonly<Record<Field, string>>;

function valuesOf({ emails }: Settings, { localePartsOf }: EmailTools): Values {
  const { language, region } = localePartsOf(emails.locale);
  return {
    emails: emails.enabled ? 'yes' : '',
    from_name: emails.senderName ?? '',
    from_address: emails.address ?? '',
    reply_to: emails.replyTo ?? '',
    logo: emails.logoUrl ?? '',
    color: emails.colour ?? '',
    design: emails.design,
    email_language: language,
    region,
    page: emails.pageUrl ?? '',
    expiry_reminders: emails.expiryReminderDays.join(', '),
    balance_reminders: emails.balanceReminderDays.join(', '),
    notify_failures: emails.notifyFailures ? 'yes' : '',
  };
}

type Read =
  | { readonly ok: true; readonly settings: EmailSettings }
  | { readonly ok: false; readonly errors: ErrorsOf<Field> };

const typedLengthMax = 4_000;

/** People leave out the `#` of a color. */
function withHash(typed: string): string {
  return typed.startsWith('#') ? typed : `#${typed}`;
}

function readEmailSettings(
  values: Values,
  { emails }: Settings,
  { emailTools: tools }: ConsoleServices,
  language: PageLanguage,
): Read {
  const { emailErrors } = settingsTexts[language];
  const errors: Partial<Record<Field, string>> = {};
  const read = <Value>(
    name: keyof typeof emailErrors,
    parse: (text: string) => Parsed<Value>,
  ): Value | null => {
    const typed = values[name];
    if (typed === '') return null;
    const parsed = typed.length > typedLengthMax ? rejected('') : parse(typed);
    if (parsed.ok) return parsed.value;
    errors[name] = emailErrors[name];
    return null;
  };
  const parts = { language: values.email_language, region: values.region };
  const present = tools.localePartsOf(emails.locale);
  // A stored locale can have more parts, which stay until another one is chosen.
  const isSame = parts.language === present.language && parts.region.toUpperCase() === present.region;
  const locale = isSame ? accepted(emails.locale) : tools.localeOfParts(parts);
  if (!locale.ok) {
    const name = locale.error === 'region' ? 'region' : 'email_language';
    errors[name] = emailErrors[name];
  }
  const settings: EmailSettings = {
    enabled: values.emails !== '',
    senderName: read('from_name', parseStoreName),
    address: read('from_address', parseSenderAddress),
    replyTo: read('reply_to', parseSenderAddress),
    logoUrl: read('logo', tools.parseLogo),
    colour: read('color', (typed) => tools.parseColor(withHash(typed))),
    design: designOf(values.design, emails.design),
    locale: locale.ok ? locale.value : emails.locale,
    pageUrl: read('page', tools.parsePage),
    expiryReminderDays: read('expiry_reminders', parseReminderDays) ?? [],
    balanceReminderDays: read('balance_reminders', parseReminderDays) ?? [],
    notifyFailures: values.notify_failures !== '',
  };
  return Object.keys(errors).length > 0 ? { ok: false, errors } : { ok: true, settings };
}

const legibilityPath = '/settings/emails/legibility';

/** The legibility of text on a typed color, in words; undefined: it is not a color. */
function legibilityOf(
  { parseColor, legibilityOf: of }: EmailTools,
  typed: string,
  language: PageLanguage,
):
  | { readonly color: string; readonly isReadable: boolean; readonly state: string; readonly text: string }
  | undefined {
  const parsed = typed === '' || typed.length > typedLengthMax ? undefined : parseColor(withHash(typed));
  if (typed !== '' && parsed?.ok !== true) return undefined;
  const found = of(parsed?.ok === true ? parsed.value : null);
  const { readable, hardToRead } = settingsTexts[language];
  const { colour: color, isReadable } = found;
  return {
    color,
    isReadable,
    state: isReadable ? readable : hardToRead,
    text: legibilityText(found, language),
  };
}

/** It names its color, because it follows the field only with the script of the page. */
function legibilityLine(
  { emailTools, frame }: ConsoleServices,
  typed: string,
  language: PageLanguage,
): Markup {
  const found = legibilityOf(emailTools, typed, language);
  const shown =
    found &&
    markup`<span class="tag ${found.isReadable ? 'good' : 'bad'}">${found.state}</span> <span class="code">${found.color}</span> <span class="soft small">${found.text}</span>`;
  return markup`<p class="row" id="legibility" role="status" data-path="${frame.basePath}${legibilityPath}">${shown}</p>`;
}

const previewPath = '/settings/emails/preview';

function testPanel(page: Page): Markup | undefined {
  const text = page.text.settings;
  // The panel of the mail server says where it is set.
  if (!page.services.emailTools.sendTest && page.services.serverTools.rule !== 'operator') return undefined;
  if (!page.services.emailTools.sendTest)
    return markup`<section class="panel stack" aria-labelledby="test"><h2 id="test">${text.test}</h2><p class="soft">${text.noServer}</p></section>`;
  const hint = fillPlain(text.testHint, { address: page.member.email });
  return markup`<section class="panel stack" aria-labelledby="test"><h2 id="test">${text.test}</h2><p class="soft">${hint}</p>${keptNotice(page.services, page.language)}
<form method="post" action="${page.basePath}/settings/emails/test">${keyInput(page.ctx)}<button class="button">${text.sendTest}</button></form></section>`;
}

/** The server that sends the emails, with a link to the page that sets it. */
function serverPanel(
  { frame, canSend, serverTools, condition }: ConsoleServices,
  language: PageLanguage,
): Markup {
  const text = catalogue[language].emailServer;
  const { ofOperator, rule } = serverTools;
  const tag =
    canSend && condition.emailTransport === 'smtp'
      ? markup`<span class="tag good">${text.verified}</span>`
      : markup`<span class="tag wait">${text.notSent}</span>`;
  const said = ofOperator
    ? markup`<p>${fillPlain(text.byOperator, { server: `${ofOperator.host}:${ofOperator.port}` })}</p>`
    : markup`<p>${tag}</p>`;
  const link = markup`<div class="row"><a class="button" href="${frame.basePath}${emailServerPath}">${canSend && condition.emailTransport === 'smtp' ? text.change : text.set}</a></div>`;
  return markup`<section class="panel stack" aria-labelledby="email-server"><h2 id="email-server">${text.title}</h2>${said}${rule === 'operator' ? undefined : link}</section>`;
}

/** The parts of the page outside of the form of the settings. */
type Outside = {
  readonly logo: Logo | null;
  /** At the field of the logo. */
  readonly logoError?: string;
  /** Above the page. */
  readonly problem?: string;
};

function emailsPage(page: Page, form: ShownForm<Field>, { logo, logoError, problem }: Outside): PageResponse {
  const text = page.text.settings;
  const field = (...of: readonly [name: Field, label: string, hint?: string]) =>
    fieldOf(form, page.language, of);
  const optional = (...of: readonly [name: Field, label: string, hint?: string]): Markup =>
    inputField({ ...field(...of), isOptional: true });
  const locales = page.services.emailLocales.map((value) => ({
    value,
    text: localeText(value, page.language),
  }));
  const locale = field('email_language', text.emailLanguage);
  const changedLocale =
    form.now && form.now.email_language !== form.values.email_language
      ? { hint: fillPlain(text.now, { value: localeText(form.now.email_language, page.language) }) }
      : {};
  const typed = form.values.color === '' ? null : withHash(form.values.color);
  const color = legibilityLine(page.services, form.values.color, page.language);
  // The frame has the stored settings until the script updates it.
  const hasTyped = Object.keys(form.errors).length > 0 || form.notice !== undefined;
  const standard = fillPlain(text.colorHint, { color: page.services.emailTools.legibilityOf(null).colour });
  const picker = markup`<input type="color" class="field" aria-label="${text.pickColor}" data-picks="color" value="${page.services.emailTools.legibilityOf(typed).colour}" hidden>`;
  const design = designChoice(page.services.frame, {
    legend: fieldLabel('design', page.language),
    chosen: form.values.design,
    nameOf: (each) => designName(each, page.language),
    hint:
      form.now && form.now.design !== form.values.design
        ? fillPlain(text.now, { value: shownOf('design', form.now.design, page.language) })
        : text.designHint,
  });
  const body = markup`${problem === undefined ? undefined : alert(problem)}<div class="grid two"><div class="stack"><form class="stack" id="email-settings" method="post" action="${page.basePath}/settings/emails" data-previews="${hasTyped ? 'now' : 'later'}">${formStart(page, form)}
<section class="panel stack" aria-labelledby="brand"><h2 id="brand">${text.brand}</h2><div class="fields"><div class="picks">${optional('color', text.color, standard)}${picker}</div>
${optional('logo', text.logo, text.logoHint)}</div>
${color}
${design}</section>
<section class="panel stack" aria-labelledby="sender"><h2 id="sender">${text.sender}</h2>
${checkField(form, page.language, ['emails', text.sendEmails, text.sendEmailsHint])}
<div class="fields">${optional('from_name', text.fromName, fillPlain(text.fromNameHint, { name: page.store.name }))}
${inputField({ ...field('from_address', text.fromAddress, text.fromAddressHint), type: 'email', isOptional: true })}
${inputField({ ...field('reply_to', text.replyTo, text.replyToHint), type: 'email', isOptional: true })}
${optional('page', text.page, text.pageHint)}</div>
${checkField(form, page.language, ['notify_failures', text.notifyFailures])}</section>
<section class="panel stack" aria-labelledby="language"><h2 id="language">${text.language}</h2><div class="fields">${select({ ...locale, ...changedLocale, options: locales })}
${optional('region', text.region, text.regionHint)}</div></section>
<section class="panel stack" aria-labelledby="reminders"><h2 id="reminders">${text.reminders}</h2><div class="fields">${optional('expiry_reminders', text.expiryReminders, text.expiryRemindersHint)}
${optional('balance_reminders', text.balanceReminders, text.balanceRemindersHint)}</div></section>
<div class="row"><button class="button first">${text.save}</button></div></form>
${logoPanel(page, { logo, error: logoError })}
${serverPanel(page.services, page.language)}
${testPanel(page)}</div>
${previewPanel(page.services, page.language, { form: 'email-settings', path: previewPath })}</div>`;
  const shown = pageOfSettings(page, {
    area: 'emails',
    form,
    body,
    scripts: ['preview.js', 'logo.js'],
  });
  return problem === undefined && logoError === undefined ? shown : { ...shown, status: 422 };
}

async function presentPage(page: Page, outside: Omit<Outside, 'logo'> = {}): Promise<PageResponse> {
  const settings = await readSettings(page);
  const logo = await page.read(() => findLogo(settings.store.id));
  const values = valuesOf(settings, page.services.emailTools);
  return emailsPage(page, { values, errors: {}, base: baseOf('emails', settings) }, { ...outside, logo });
}

/** Sends an email with the saved settings to the person, once per form. */
async function sendTest(page: Page): Promise<ConsoleResponse> {
  const text = page.text.settings;
  const key = page.key;
  if (!page.services.emailTools.sendTest) return await presentPage(page, { problem: text.noServer });
  if (key === undefined) return await presentPage(page, { problem: text.expiredForm });
  const { result: waitMs, isRepeated } = await page.once(key, () => reserveTestEmail(page.ctx, page.member));
  if (waitMs > 0) return throttled(await presentPage(page, { problem: text.testThrottled }), waitMs);
  if (isRepeated) return seeOther('/settings/emails?done=repeated');
  const { emails, texts } = await readSettings(page);
  const logo = await page.read(() => findLogo(page.store.id));
  const outcome = await page.services.emailTools.sendTest(page.member.email, {
    store: page.store,
    settings: emails,
    texts,
    logo,
  });
  if (outcome.kind === 'sent') return seeOther('/settings/emails?done=tested');
  if (outcome.kind === 'kept') return seeOther('/settings/emails?done=kept');
  const problem = fillPlain(text.testFailed[outcome.kind], { response: outcome.response });
  return await presentPage(page, { problem });
}

export const emailSettingsRoutes: readonly StaffRoute[] = [
  get('/settings/emails', 'changeSettings', (page) => presentPage(page), { hasFrame: true }),
  post(
    '/settings/emails',
    'changeSettings',
    async (page) => {
      const settings = await readSettings(page);
      const values = typedFields(page.request, fields, valuesOf(settings, page.services.emailTools));
      const logo = await page.read(() => findLogo(settings.store.id));
      const made = (form: ShownForm<Field>) => emailsPage(page, form, { logo });
      const shown = { area: 'emails', values, page: made } as const;
      const read = readEmailSettings(values, settings, page.services, page.language);
      if (!read.ok) return await rejectedForm(page, shown, read.errors);
      return await saveSettings(page, {
        ...shown,
        changes: {},
        emailChanges: read.settings,
        valuesOf: (present) => valuesOf(present, page.services.emailTools),
      });
    },
    { hasFrame: true },
  ),
  get(previewPath, 'changeSettings', async (page) => {
    const { emails: settings, texts } = await readSettings(page);
    const kind = kindOf(page.request.query.get('kind') ?? '');
    return await previewOf(page, { kind, settings, texts });
  }),
  get(legibilityPath, 'changeSettings', (page) => {
    const found = legibilityOf(
      page.services.emailTools,
      (page.request.query.get('color') ?? '').trim(),
      page.language,
    );
    return Promise.resolve({ status: 200, json: found ?? {} });
  }),
  post(previewPath, 'changeSettings', async (page) => {
    const present = await readSettings(page);
    const values = typedFields(page.request, fields, valuesOf(present, page.services.emailTools));
    const read = readEmailSettings(values, present, page.services, page.language);
    if (!read.ok) return rejectedPreview(page.language, Object.values(read.errors));
    const kind = kindOf(page.typed('kind'));
    return await previewOf(page, { kind, settings: read.settings, texts: present.texts });
  }),
  post('/settings/emails/test', 'changeSettings', sendTest, { hasFrame: true }),
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
