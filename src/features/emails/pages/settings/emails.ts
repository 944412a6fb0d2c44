/** The settings of the emails: sender, language and reminders, with a preview of each kind of email. */

import { emailTool, type EmailTools } from '../tools.ts';
import { parseSenderAddress } from '../../../../core/domain/email-address.ts';
import { parseReminderDays, type EmailSettings } from '../../../../core/emails/domain/email.ts';
import { accepted, rejected, type Parsed } from '../../../../platform/parsed.ts';
import type { Settings } from '../../../shop-settings/domain/settings.ts';
import { parseStoreName } from '../../../../core/stores/domain/store.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import { findLogo } from '../../../shop-settings/service/settings-of-store.ts';
import { reserveTestEmail } from '../../service/test-email.ts';
import { kindOf, previewOf, emailPreviewPanel, rejectedPreview } from './email-preview.ts';
import { keptNotice } from '../texts.ts';
import { keyInput } from '../../../../pages/kit/once.ts';
import { typedFields } from '../../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../../pages/kit/services.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type PageResponse,
  type StaffRoute,
} from '../../../../pages/kit/route.ts';
import { localeText } from '../../../../pages/kit/locale-text.ts';
import { alert, inputField, select, type ErrorsOf } from '../../../../pages/kit/form.ts';
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
} from '../../../shop-settings/pages/page.ts';
import { catalogue, fillPlain, type PageLanguage } from '../../../../pages/kit/texts.ts';
import { emailServerTool, emailServerPath } from '../server-tool.ts';
import { get, post, type Page } from '../../../../pages/kit/page-context.ts';
import { walletKindsOf } from '../../../wallets/pages/kinds.ts';

const fields = [
  'emails',
  'from_name',
  'from_address',
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

function readEmailSettings(
  values: Values,
  { emails }: Settings,
  tools: EmailTools,
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
    ...emails,
    enabled: values.emails !== '',
    senderName: read('from_name', parseStoreName),
    address: read('from_address', parseSenderAddress),
    locale: locale.ok ? locale.value : emails.locale,
    pageUrl: read('page', tools.parsePage),
    expiryReminderDays: read('expiry_reminders', parseReminderDays) ?? [],
    balanceReminderDays: read('balance_reminders', parseReminderDays) ?? [],
    notifyFailures: values.notify_failures !== '',
  };
  return Object.keys(errors).length > 0 ? { ok: false, errors } : { ok: true, settings };
}

const previewPath = '/settings/emails/preview';

function testPanel(page: Page): Markup | undefined {
  const text = page.text.settings;
  // The panel of the mail server says where it is set.
  if (
    !page.services.tools.of(emailTool).sendTest &&
    page.services.tools.of(emailServerTool).rule !== 'operator'
  )
    return undefined;
  if (!page.services.tools.of(emailTool).sendTest)
    return markup`<section class="panel stack" aria-labelledby="test"><h2 id="test">${text.test}</h2><p class="soft">${text.noServer}</p></section>`;
  const hint = fillPlain(text.testHint, { address: page.member.email });
  return markup`<section class="panel stack" aria-labelledby="test"><h2 id="test">${text.test}</h2><p class="soft">${hint}</p>${keptNotice(page.services, page.language)}
<form method="post" action="${page.basePath}/settings/emails/test">${keyInput(page.ctx)}<button class="button">${text.sendTest}</button></form></section>`;
}

/** The server that sends the emails, with a link to the page that sets it. */
function serverPanel({ frame, canSend, tools, condition }: ConsoleServices, language: PageLanguage): Markup {
  const text = catalogue[language].emailServer;
  const { ofOperator, rule } = tools.of(emailServerTool);
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
  /** Above the page. */
  readonly problem?: string;
};

function emailsPage(page: Page, form: ShownForm<Field>, { problem }: Outside = {}): PageResponse {
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
  // The frame has the stored settings until the script updates it.
  const hasTyped = Object.keys(form.errors).length > 0 || form.notice !== undefined;
  const body = markup`${problem === undefined ? undefined : alert(problem)}<div class="grid two"><div class="stack"><form class="stack" id="email-settings" method="post" action="${page.basePath}/settings/emails" data-previews="${hasTyped ? 'now' : 'later'}">${formStart(page, form)}
<section class="panel stack" aria-labelledby="sender"><h2 id="sender">${text.sender}</h2>
${checkField(form, page.language, ['emails', text.sendEmails, text.sendEmailsHint])}
<div class="fields">${optional('from_name', text.fromName, fillPlain(text.fromNameHint, { name: page.store.name }))}
${inputField({ ...field('from_address', text.fromAddress, text.fromAddressHint), type: 'email', isOptional: true })}
${optional('page', text.page, text.pageHint)}</div>
${checkField(form, page.language, ['notify_failures', text.notifyFailures])}</section>
<section class="panel stack" aria-labelledby="language"><h2 id="language">${text.language}</h2><div class="fields">${select({ ...locale, ...changedLocale, options: locales })}
${optional('region', text.region, text.regionHint)}</div></section>
<section class="panel stack" aria-labelledby="reminders"><h2 id="reminders">${text.reminders}</h2><div class="fields">${optional('expiry_reminders', text.expiryReminders, text.expiryRemindersHint)}
${optional('balance_reminders', text.balanceReminders, text.balanceRemindersHint)}</div></section>
<div class="row"><button class="button first">${text.save}</button></div></form>
${serverPanel(page.services, page.language)}
${testPanel(page)}</div>
${emailPreviewPanel(page.services, page.language, { form: 'email-settings', path: previewPath })}</div>`;
  const shown = pageOfSettings(page, {
    area: 'emails',
    form,
    body,
    scripts: ['preview.js'],
  });
  return problem === undefined ? shown : { ...shown, status: 422 };
}

async function presentPage(page: Page, outside: Outside = {}): Promise<PageResponse> {
  const settings = await readSettings(page);
  const values = valuesOf(settings, page.services.tools.of(emailTool));
  return emailsPage(page, { values, errors: {}, base: baseOf('emails', settings) }, outside);
}

/** Sends an email with the saved settings to the person, once per form. */
async function sendTest(page: Page): Promise<ConsoleResponse> {
  const text = page.text.settings;
  const key = page.key;
  const { sendTest: sendSample } = page.services.tools.of(emailTool);
  if (!sendSample) return await presentPage(page, { problem: text.noServer });
  if (key === undefined) return await presentPage(page, { problem: text.expiredForm });
  const { result: waitMs, isRepeated } = await page.once(key, () => reserveTestEmail(page.ctx, page.member));
  if (waitMs > 0) return throttled(await presentPage(page, { problem: text.testThrottled }), waitMs);
  if (isRepeated) return seeOther('/settings/emails?done=repeated');
  const { emails, texts } = await readSettings(page);
  const logo = await page.read(() => findLogo(page.store.id));
  const outcome = await sendSample(page.member.email, {
    store: page.store,
    settings: emails,
    texts,
    logo,
    wallets: await walletKindsOf(page.services, page.store.id),
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
      const values = typedFields(page.request, fields, valuesOf(settings, page.services.tools.of(emailTool)));
      const made = (form: ShownForm<Field>) => emailsPage(page, form);
      const shown = { area: 'emails', values, page: made } as const;
      const read = readEmailSettings(values, settings, page.services.tools.of(emailTool), page.language);
      if (!read.ok) return await rejectedForm(page, shown, read.errors);
      return await saveSettings(page, {
        ...shown,
        changes: {},
        emailChanges: read.settings,
        valuesOf: (present) => valuesOf(present, page.services.tools.of(emailTool)),
      });
    },
    { hasFrame: true },
  ),
  get(previewPath, 'changeSettings', async (page) => {
    const { emails: settings, texts } = await readSettings(page);
    const kind = kindOf(page.request.query.get('kind') ?? '');
    return await previewOf(page, { kind, settings, texts });
  }),
  post(previewPath, 'changeSettings', async (page) => {
    const present = await readSettings(page);
    const values = typedFields(page.request, fields, valuesOf(present, page.services.tools.of(emailTool)));
    const read = readEmailSettings(values, present, page.services.tools.of(emailTool), page.language);
    if (!read.ok) return rejectedPreview(page.language, Object.values(read.errors));
    const kind = kindOf(page.typed('kind'));
    return await previewOf(page, { kind, settings: read.settings, texts: present.texts });
  }),
  post('/settings/emails/test', 'changeSettings', sendTest, { hasFrame: true }),
];
