/** The common parts of the pages of the settings: links, fields, and saving once unless the settings have changed. */

import { Fault } from '../../../core/domain/fault.ts';
import type { EmailSettings } from '../../../core/emails/domain/email.ts';
import type { EmailTextChange } from '../../emails/domain/wording.ts';
import {
  changedSettings,
  settingTexts,
  type SettingName,
  type Settings,
  type SettingTexts,
} from '../domain/settings.ts';
import type { StoreChanges } from '../../../core/stores/service/store.ts';
import { changeSettings } from '../service/settings.ts';
import { findSettings } from '../service/settings-of-store.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { withoutAccess } from '../../../pages/kit/without-access.ts';
import { alert, hidden, type FieldText } from '../../../pages/kit/form.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import {
  seeOther,
  type ConsoleResponse,
  type PageResponse,
  type StaffRequest,
} from '../../../pages/kit/route.ts';
import { fillPlain, type PageLanguage, textsOf } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

export const settingsTexts = textsOf('settings');
const auditTexts = textsOf('audit');

type Area = 'shop' | 'limits' | 'emails' | 'texts' | 'proxy';

/** The pages and the settings of each. */
const areas: Readonly<Record<Area, { readonly path: string; readonly names: readonly SettingName[] }>> = {
  shop: {
    path: '/settings',
    names: ['name', 'color', 'design', 'website', 'phone', 'reply_to', 'hours', 'terms'],
  },
  limits: {
    path: '/settings/limits',
    names: [
      'time_zone',
      'issue_limit',
      'lookup_failures',
      'undo_window',
      'expiring_soon',
      'hold_limit',
      'customer_search',
      'vat',
      'account_names',
      'datev',
    ],
  },
  emails: {
    path: '/settings/emails',
    names: [
      'emails',
      'from_name',
      'from_address',
      'email_language',
      'page',
      'expiry_reminders',
      'balance_reminders',
      'notify_failures',
    ],
  },
  texts: { path: '/settings/texts', names: ['email_texts'] },
  proxy: { path: '/settings/proxy', names: ['proxy_secret', 'require_signature'] },
};

/** The state of a form, whatever its fields are. */
type FormState = {
  readonly errors: object;
  /** Above the form. */
  readonly notice?: string;
  /** The settings of which the form is made. */
  readonly base: SettingTexts;
  /** The fields with the settings as they are now, if they have changed since the form was shown. */
  readonly now?: object;
};

/** A form that is shown: what was typed, and its errors at their fields. */
export type ShownForm<Field extends string> = FormState & {
  readonly values: Readonly<Record<Field, string>>;
  readonly errors: Readonly<Partial<Record<Field, string>>>;
  readonly now?: Readonly<Record<Field, string>>;
};

export async function readSettings(page: Page): Promise<Settings> {
  return await page.read(() => findSettings(page.store));
}

/** The settings of a page, to put into its form. */
export function baseOf(area: Area, settings: Settings): SettingTexts {
  const texts = settingTexts(settings);
  return Object.fromEntries(areas[area].names.map((name) => [name, texts[name]]));
}

const baseField = 'base';
const baseLengthMax = 20_000;

/** The settings of which a submitted form was made; undefined: the server did not make it. */
function submittedBase(area: Area, { form }: StaffRequest): SettingTexts | undefined {
  const text = form.get(baseField) ?? '';
  if (text.length > baseLengthMax) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const values = new Map<string, unknown>(Object.entries(parsed));
  const { names } = areas[area];
  return names.every((name) => typeof values.get(name) === 'string')
    ? Object.fromEntries(names.map((name) => [name, values.get(name)]))
    : undefined;
}

/** The name, label, value, error and hint of a field. */
export function fieldOf<Field extends string>(
  { values, errors, now }: ShownForm<Field>,
  language: PageLanguage,
  [name, label, hint]: readonly [name: Field, label: string, hint?: string],
): FieldText & { readonly value: string } {
  const shown = now && now[name] !== values[name] ? nowText(now[name], language) : hint;
  return {
    name,
    label,
    value: values[name],
    error: errors[name],
    ...(shown !== undefined && { hint: shown }),
  };
}

function nowText(value: string, language: PageLanguage): string {
  const text = settingsTexts[language];
  return fillPlain(text.now, { value: value === '' ? text.none : value });
}

/**
 * A setting that is on or off. Browsers send nothing for an empty check box, so a hidden field before it says that the form
 * has it.
 */
export function checkField<Field extends string>(
  { values, now }: ShownForm<Field>,
  language: PageLanguage,
  [name, label, hint]: readonly [name: Field, label: string, hint?: string],
): Markup {
  const text = settingsTexts[language];
  const checked = values[name] === '' ? undefined : markup` checked`;
  const isChanged = now !== undefined && (now[name] === '') !== (values[name] === '');
  const changed = fillPlain(text.now, { value: now?.[name] === '' ? text.off : text.on });
  const shown = isChanged ? changed : hint;
  return markup`${hidden(name, '')}<label class="check"><input type="checkbox" name="${name}" value="yes"${checked}><span>${label}</span>${shown === undefined ? undefined : markup`<span class="soft">${shown}</span>`}</label>`;
}

/** The hidden fields of a form, and what is above its fields. */
export function formStart(page: Page, { errors, notice, base, now }: FormState): Markup {
  const hasErrors = Object.keys(errors).length > 0;
  const key = hasErrors || notice !== undefined || now ? page.key : undefined;
  const message = notice ?? (hasErrors ? page.text.settings.errors : undefined);
  return markup`${keyInput(page.ctx, key)}${hidden(baseField, JSON.stringify(base))}${message === undefined ? undefined : alert(message)}`;
}

/** Returns the notice about the last change: one of a fixed set of names, never a text from the URL. */
function doneNotice(page: Page): Markup | undefined {
  const { done } = page.text.settings;
  const name = page.request.query.get('done') ?? '';
  const kind = name === 'kept' ? 'notice' : 'notice good';
  return Object.hasOwn(done, name)
    ? markup`<p class="${kind}" role="status">${done[name as keyof typeof done]}</p>
`
    : undefined;
}

/** A page of the settings with its form. */
export function pageOfSettings(
  page: Page,
  {
    area,
    form,
    body,
    scripts = [],
  }: {
    readonly area: Area;
    readonly form: FormState;
    readonly body: MarkupPart;
    readonly scripts?: readonly string[];
  },
): PageResponse {
  const { pages, ...text } = page.text.settings;
  const links = (Object.keys(areas) as readonly Area[]).map((each) => {
    const current = each === area ? markup` aria-current="true"` : undefined;
    return markup`<a href="${page.basePath}${areas[each].path}"${current}>${pages[each]}</a>`;
  });
  const isRejected = Object.keys(form.errors).length > 0 || form.notice !== undefined;
  const status = isRejected ? 422 : 200;
  return page.show('/settings', {
    status: form.now ? 409 : status,
    title: text.title,
    scripts,
    body: markup`<div class="stack settings"><nav class="pills" aria-label="${text.title}">${links}</nav>
${page.request.method === 'GET' ? doneNotice(page) : undefined}${body}</div>`,
  });
}

/** The names of settings in the language, as the audit log shows them. */
function namesText(names: readonly SettingName[], language: PageLanguage): string {
  const { fields } = auditTexts[language];
  return names.map((name) => fields[name]).join(', ');
}

type Saved<Field extends string> = {
  readonly area: Area;
  readonly changes: StoreChanges;
  readonly emailChanges: Partial<EmailSettings>;
  /** Default: none. */
  readonly textChanges?: readonly EmailTextChange[];
  /** The parameters of the page to which saving leads. Default: none. */
  readonly parameters?: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<Field, string>>;
  /** The values of the fields with other settings. */
  readonly valuesOf: (settings: Settings) => Readonly<Record<Field, string>>;
  readonly page: (form: ShownForm<Field>) => ConsoleResponse;
};

/** The form again, with its errors. */
export async function rejectedForm<Field extends string>(
  page: Page,
  { area, values, page: shown }: Pick<Saved<Field>, 'area' | 'values' | 'page'>,
  errors: ShownForm<Field>['errors'],
): Promise<ConsoleResponse> {
  const base = submittedBase(area, page.request) ?? baseOf(area, await readSettings(page));
  return shown({ values, errors, base });
}

/** Saves the changes of a form once, and leads back to its page. */
export async function saveSettings<Field extends string>(
  page: Page,
  { area, changes, emailChanges, textChanges = [], parameters, values, valuesOf, page: shown }: Saved<Field>,
): Promise<ConsoleResponse> {
  const text = page.text.settings;
  const [key, base] = [page.key, submittedBase(area, page.request)];
  if (key === undefined || !base) {
    const present = baseOf(area, await readSettings(page));
    return shown({
      values,
      errors: {} as ShownForm<Field>['errors'],
      base: present,
      notice: text.expiredForm,
    });
  }
  try {
    const change = { base, changes, emailChanges, textChanges };
    const { isRepeated } = await page.once(key, () => changeSettings(page.ctx, page.by, change));
    const query = new URLSearchParams({ ...parameters, done: isRepeated ? 'repeated' : 'saved' });
    return seeOther(`${areas[area].path}?${query.toString()}`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const response = withoutAccess(page, error);
    if (response) return response;
    if (error.code !== 'precondition-failed') throw error;
    const present = await readSettings(page);
    const names = namesText(changedSettings(base, settingTexts(present)), page.language);
    const notice = fillPlain(text.conflict, { names });
    return shown({
      values,
      errors: {} as ShownForm<Field>['errors'],
      base: baseOf(area, present),
      notice,
      now: valuesOf(present),
    });
  }
}
