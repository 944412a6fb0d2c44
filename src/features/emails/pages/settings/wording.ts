/** The wording of emails: the shop's own texts of each kind of email in a language, with a preview. */

import { emailTool } from '../tools.ts';
import { emailKinds, type EmailKind } from '../../../../core/emails/domain/email.ts';
import {
  emailTextLengths,
  emailTextParts,
  emailValues,
  hasLines,
  placeholdersOf,
  readEmailText,
  textsIn,
  type EmailTextChange,
  type EmailTextPart,
} from '../../domain/wording.ts';
import type { Settings } from '../../../shop-settings/domain/settings.ts';
import { joinMarkup, markup, type Markup } from '../../../../platform/markup.ts';
import { kindOf, previewOf, emailPreviewPanel, rejectedPreview } from './email-preview.ts';
import { typedFields } from '../../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../../pages/kit/services.ts';
import type { ConsoleResponse, PageResponse, StaffRoute } from '../../../../pages/kit/route.ts';
import { localeText } from '../../../../pages/kit/locale-text.ts';
import { hidden, inputField, select, textArea, type ErrorsOf } from '../../../../pages/kit/form.ts';
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
} from '../../../shop-settings/pages/page.ts';
import { fill, fillPlain, type PageLanguage, plural, textsOf } from '../../../../pages/kit/texts.ts';
import { get, post, type Page } from '../../../../pages/kit/page-context.ts';

const wordingTexts = textsOf('wording');

type Field = `${EmailKind}_${EmailTextPart}`;
type Values = Readonly<Record<Field, string>>;

/** The place of the text in each field. */
const places = emailKinds.flatMap((kind) => emailTextParts.map((part) => ({ kind, part }) as const));

function fieldName({ kind, part }: (typeof places)[number]): Field {
  return `${kind}_${part}`;
}

const fields = places.map(fieldName);

/** A character of a text has at most twelve bytes in a form. */
const formBytesMax =
  12 * places.reduce((sum, { part }) => sum + emailTextLengths[part], 0) + 64 * places.length + 4_096;

const path = '/settings/texts';
const previewPath = `${path}/preview`;
const formId = 'email-texts';

/** The language of the page's texts: the chosen one, or that of the emails. */
function languageOf({ emailLocales, tools }: ConsoleServices, { emails }: Settings, chosen: string): string {
  return emailLocales.includes(chosen) ? chosen : tools.of(emailTool).localePartsOf(emails.locale).language;
}

function valuesOf({ texts }: Settings, language: string): Values {
  const stored = textsIn(texts, language);
  const values = places.map((place) => [fieldName(place), stored[place.kind]?.[place.part] ?? ''] as const);
  return Object.fromEntries(values) as Values;
}

type Read =
  | { readonly ok: true; readonly changes: readonly EmailTextChange[] }
  | { readonly ok: false; readonly errors: ErrorsOf<Field> };

function readTexts(values: Values, language: string, pageLanguage: PageLanguage): Read {
  const { errors: text } = wordingTexts[pageLanguage];
  const errors: Partial<Record<Field, string>> = {};
  const changes = places.flatMap((place): readonly EmailTextChange[] => {
    const read = readEmailText(place, values[fieldName(place)]);
    if (read.ok) return [{ ...place, language, text: read.text }];
    errors[fieldName(place)] = fillPlain(text[read.problem], {
      ...(read.problem === 'length' && {
        count: new Intl.NumberFormat(pageLanguage).format(emailTextLengths[place.part]),
      }),
      ...(read.problem === 'placeholder' && { names: placeholdersOf(place.kind) }),
    });
    return [];
  });
  return Object.keys(errors).length > 0 ? { ok: false, errors } : { ok: true, changes };
}

type Shown = { readonly settings: Settings; readonly language: string; readonly kind: EmailKind };

/** The standard text of a part, below its field. */
function standardHint(
  standard: string,
  part: EmailTextPart,
  { language, direction }: { readonly language: string; readonly direction: 'ltr' | 'rtl' },
  pageLanguage: PageLanguage,
): Markup {
  const text = wordingTexts[pageLanguage];
  if (standard === '') return markup`${text.standardNone}`;
  const shown = markup`<bdi lang="${language}" dir="${direction}">${standard}</bdi>`;
  return fill(part === 'greeting' ? text.standardNamed : text.standard, { text: shown });
}

function kindPanel(
  { tools, customerLanguage }: ConsoleServices,
  pageLanguage: PageLanguage,
  form: ShownForm<Field>,
  {
    language,
    kind,
    isOpen,
  }: { readonly language: string; readonly kind: EmailKind; readonly isOpen: boolean },
): Markup {
  const text = wordingTexts[pageLanguage];
  const name = settingsTexts[pageLanguage].kinds[kind];
  const standards = tools.of(emailTool).standardTexts(kind, language);
  const written = { language, direction: customerLanguage(language).direction };
  const inputs = emailTextParts.map((part) => {
    const field = fieldOf(form, pageLanguage, [fieldName({ kind, part }), text.parts[part]]);
    const hint = field.hint ?? standardHint(standards[part], part, written, pageLanguage);
    const shown = { ...field, hint, written };
    return hasLines(part) ? textArea(shown) : inputField({ ...shown, isOptional: true });
  });
  const count = emailTextParts.filter((part) => form.values[fieldName({ kind, part })] !== '').length;
  const own =
    count > 0 ? markup` <span class="tag good">${plural(pageLanguage, text.own, count)}</span>` : undefined;
  const open = isOpen ? markup` open` : undefined;
  return markup`<details class="panel" data-kind="${kind}"${open}><summary><strong>${name}</strong>${own}</summary><div class="stack" role="group" aria-label="${name}"><p class="hint">${fillPlain(text.allowed, { names: placeholdersOf(kind) })}</p>
${joinMarkup(inputs, '\n')}</div></details>
`;
}

function languagePanel(
  { emailLocales, tools }: ConsoleServices,
  pageLanguage: PageLanguage,
  { settings: { emails }, language }: Shown,
): Markup {
  const text = wordingTexts[pageLanguage];
  const options = emailLocales.map((value) => ({ value, text: localeText(value, pageLanguage) }));
  const used = tools.of(emailTool).localePartsOf(emails.locale).language;
  const notInUse =
    used === language
      ? undefined
      : markup`<p class="hint">${fillPlain(text.notInUse, { language: localeText(used, pageLanguage) })}</p>`;
  const values = emailValues.gift_card.map(
    (name) => markup`<dt><code>{${name}}</code></dt><dd>${text.values[name]}</dd>`,
  );
  return markup`<section class="panel stack" aria-label="${text.languageOfTexts}"><p>${text.intro}</p>
<form class="filters">${select({ name: 'language', label: text.languageOfTexts, options, value: language })}<button class="button">${text.show}</button></form>${notInUse}
<details><summary>${text.placeholders}</summary><p class="hint">${text.placeholdersHint}</p><dl class="facts">${values}</dl></details></section>`;
}

function textsPage(page: Page, form: ShownForm<Field>, shown: Shown): PageResponse {
  const { language, kind } = shown;
  const rejected = emailKinds.filter((each) =>
    emailTextParts.some((part) => form.errors[fieldName({ kind: each, part })] !== undefined),
  );
  const open = rejected.length > 0 ? rejected : [kind];
  const panels = emailKinds.map((each) =>
    kindPanel(page.services, page.language, form, { language, kind: each, isOpen: open.includes(each) }),
  );
  // The frame has the stored texts until the script updates it.
  const hasTyped = page.request.method === 'POST';
  const query = `?${new URLSearchParams({ language, kind }).toString()}`;
  const body = markup`<div class="grid two"><div class="stack">${languagePanel(page.services, page.language, shown)}
<form class="stack wording" id="${formId}" method="post" action="${page.basePath}${path}" data-previews="${hasTyped ? 'now' : 'later'}">${formStart(page, form)}${hidden('language', language)}
${panels}<div class="row"><button class="button first">${page.text.settings.save}</button></div></form></div>
${emailPreviewPanel(page.services, page.language, { form: formId, path: previewPath, query, kind: open[0] ?? kind })}</div>`;
  return pageOfSettings(page, { area: 'texts', form, body, scripts: ['preview.js'] });
}

/** A preview in the language of the texts, with the country of the emails if they have the same language. */
async function preview(
  page: Page,
  { settings: { emails, texts }, language, kind }: Shown,
): Promise<ConsoleResponse> {
  const isSame = page.services.tools.of(emailTool).localePartsOf(emails.locale).language === language;
  const settings = isSame ? emails : { ...emails, locale: language };
  return await previewOf(page, { kind, settings, texts });
}

export const textSettingsRoutes: readonly StaffRoute[] = [
  get(
    path,
    'changeSettings',
    async (page) => {
      const settings = await readSettings(page);
      const language = languageOf(page.services, settings, page.request.query.get('language') ?? '');
      const form = { values: valuesOf(settings, language), errors: {}, base: baseOf('texts', settings) };
      const kind = kindOf(page.request.query.get('kind') ?? '');
      return textsPage(page, form, { settings, language, kind });
    },
    { hasFrame: true },
  ),
  post(
    path,
    'changeSettings',
    async (page) => {
      const settings = await readSettings(page);
      const language = languageOf(page.services, settings, page.typed('language'));
      const kind = kindOf(page.typed('kind'));
      const values = typedFields(page.request, fields, valuesOf(settings, language));
      const made = (form: ShownForm<Field>) => textsPage(page, form, { settings, language, kind });
      const shown = { area: 'texts', values, page: made } as const;
      const read = readTexts(values, language, page.language);
      if (!read.ok) return await rejectedForm(page, shown, read.errors);
      return await saveSettings(page, {
        ...shown,
        changes: {},
        emailChanges: {},
        textChanges: read.changes,
        parameters: { language, kind },
        valuesOf: (present) => valuesOf(present, language),
      });
    },
    { hasFrame: true, formBytesMax },
  ),
  get(previewPath, 'changeSettings', async (page) => {
    const settings = await readSettings(page);
    const language = languageOf(page.services, settings, page.request.query.get('language') ?? '');
    const kind = kindOf(page.request.query.get('kind') ?? '');
    return await preview(page, { settings, language, kind });
  }),
  post(
    previewPath,
    'changeSettings',
    async (page) => {
      const present = await readSettings(page);
      const language = languageOf(page.services, present, page.typed('language'));
      const values = typedFields(page.request, fields, valuesOf(present, language));
      const read = readTexts(values, language, page.language);
      if (!read.ok) return rejectedPreview(page.language, labeledErrors(read.errors, page.language));
      const texts = read.changes.flatMap(({ text, ...place }) => (text === null ? [] : [{ ...place, text }]));
      const settings = { ...present, texts };
      return await preview(page, {
        settings,
        language,
        kind: kindOf(page.typed('kind')),
      });
    },
    { formBytesMax },
  ),
];

/** The errors with the names of their fields, for the frame. */
function labeledErrors(errors: ErrorsOf<Field>, pageLanguage: PageLanguage): readonly string[] {
  const text = wordingTexts[pageLanguage];
  const { kinds } = settingsTexts[pageLanguage];
  return places.flatMap((place) => {
    const error = errors[fieldName(place)];
    if (error === undefined) return [];
    const field = `${kinds[place.kind]}, ${text.parts[place.part]}`;
    return [fillPlain(text.errorOf, { field, error })];
  });
}
