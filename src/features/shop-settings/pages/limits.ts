/** The settings of the days, the limits and the books of a shop. */

import { holdLimitMaxDays } from '../../../core/money/domain/hold.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { datevDefaults, formatDatev, parseDatev, type Datev } from '../../../core/stores/domain/datev.ts';
import type { Settings } from '../domain/settings.ts';
import {
  journalAccounts,
  type AccountNames,
  type JournalAccount,
  type Store,
  stockRequirements,
} from '../../../core/stores/domain/store.ts';
import { parseLine } from '../../../core/domain/text.ts';
import { parseVatRate, vatKinds, type Vat } from '../../../core/money/domain/vat.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { StoreChanges } from '../../../core/stores/service/store.ts';
import { amountText, amountValue, parseTypedAmount } from '../../../pages/kit/format.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import {
  currencyText,
  parseTimeZone,
  suggestedLimit,
  timeZoneOptions,
} from '../../setup/pages/setup-choices.ts';
import { localeText } from '../../../pages/kit/locale-text.ts';
import { inputField, select, type ErrorsOf } from '../../../pages/kit/form.ts';
import { typedFields } from '../../../pages/kit/request.ts';
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
import { fillPlain, type PageLanguage } from '../../../pages/kit/texts.ts';
import { setupTexts } from '../../setup/pages/welcome.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

const accountFields = journalAccounts.map((account) => `account_${account}` as const);

const fields = [
  'time_zone',
  'issue_limit',
  'lookup_failures',
  'undo_window',
  'expiring_soon',
  'hold_limit',
  'customer_search',
  'stock_required',
  'vat',
  'vat_rate',
  'datev',
  ...accountFields,
] as const;

type Field = (typeof fields)[number];
type Values = Readonly<Record<Field, string>>;

function valuesOf({ store }: Settings, language: PageLanguage): Values {
  const accounts = journalAccounts.map((account) => [
    `account_${account}`,
    store.accountNames[account] ?? '',
  ]);
  return {
    time_zone: store.timeZone,
    issue_limit: store.issueLimit ? amountValue(store.issueLimit, language) : '',
    lookup_failures: store.lookupFailuresPerHour === null ? '' : String(store.lookupFailuresPerHour),
    undo_window: String(store.undoWindowMinutes),
    expiring_soon: String(store.expiringSoonDays),
    hold_limit: String(store.holdLimitDays),
    customer_search: store.customerSearch ? 'yes' : '',
    stock_required: store.stockRequired,
    vat: store.vat?.kind ?? '',
    vat_rate: store.vat?.kind === 'single_purpose' ? store.vat.rate : '',
    datev: store.datev ? shownDatev(store.datev) : '',
    ...(Object.fromEntries(accounts) as Record<`account_${JournalAccount}`, string>),
  };
}

/** Without the parts that have their usual values. */
function shownDatev(datev: Datev): string {
  const { firstMonth, accountLength } = datevDefaults;
  const isUsual = datev.firstMonth === firstMonth && datev.accountLength === accountLength;
  return isUsual ? `${datev.consultant}/${datev.client}` : formatDatev(datev);
}

const failuresMax = 100_000;
const minutesMax = 60;
const daysMax = 365;
const accountNameLengthMax = 100;

/** A whole number as people type it; undefined: it is not one, or not in the range. */
function wholeNumber(text: string, [min, max]: readonly [number, number]): number | undefined {
  const number = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}

type Read =
  | { readonly ok: true; readonly changes: StoreChanges }
  | { readonly ok: false; readonly errors: ErrorsOf<Field> };

/** The VAT of the fields; undefined: the rate is not one. */
function vatOf({ vat, vat_rate: typed }: Values): Vat | null | undefined {
  if (vat === 'multi_purpose') return { kind: vat };
  if (vat !== 'single_purpose') return null;
  const rate = parseVatRate(typed.replace('%', '').trim().replace(',', '.'));
  return rate.ok ? { kind: vat, rate: rate.value } : undefined;
}

function accountNamesOf(values: Values, reject: (field: Field) => void): AccountNames {
  const accountNames: Partial<Record<JournalAccount, string>> = {};
  for (const account of journalAccounts) {
    const parsed = parseLine(values[`account_${account}`], accountNameLengthMax);
    if (!parsed.ok) reject(`account_${account}`);
    else if (parsed.value !== null) accountNames[account] = parsed.value;
  }
  return accountNames;
}

function readLimits(values: Values, { currency }: Pick<Store, 'currency'>, language: PageLanguage): Read {
  const text = settingsTexts[language];
  const setup = setupTexts[language];
  const errors: Partial<Record<Field, string>> = {};
  const timeZone = parseTimeZone(values.time_zone);
  if (timeZone === undefined) errors.time_zone = setup.timeZoneInvalid;
  let issueLimit: Money | null = null;
  if (values.issue_limit !== '') {
    const limit = parseTypedAmount(values.issue_limit, { currency }, { language });
    if (limit.ok) issueLimit = limit.value;
    else {
      const example = amountText(suggestedLimit(currency), language);
      errors.issue_limit = fillPlain(setup.limitInvalid, { currency: currency.code, example });
    }
  }
  const number = (field: Field, range: readonly [number, number]): number | undefined => {
    const read = wholeNumber(values[field], range);
    const [min, max] = range.map((each) => new Intl.NumberFormat(language).format(each));
    if (read === undefined) errors[field] = fillPlain(text.numberInvalid, { min: min ?? '', max: max ?? '' });
    return read;
  };
  const failures = values.lookup_failures === '' ? null : number('lookup_failures', [1, failuresMax]);
  const undoWindowMinutes = number('undo_window', [0, minutesMax]);
  const expiringSoonDays = number('expiring_soon', [0, daysMax]);
  const holdLimitDays = number('hold_limit', [1, holdLimitMaxDays]);
  const vat = vatOf(values);
  if (vat === undefined) errors.vat_rate = text.vatRateInvalid;
  const accountNames = accountNamesOf(values, (field) => (errors[field] = text.accountInvalid));
  const datev = values.datev === '' ? null : parseDatev(values.datev.replaceAll(/\s/g, ''));
  if (datev?.ok === false) errors.datev = text.datevInvalid;
  if (timeZone === undefined || failures === undefined || vat === undefined) return { ok: false, errors };
  if (undoWindowMinutes === undefined || expiringSoonDays === undefined || holdLimitDays === undefined)
    return { ok: false, errors };
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  return {
    ok: true,
    changes: {
      timeZone,
      issueLimit,
      lookupFailuresPerHour: failures,
      undoWindowMinutes,
      expiringSoonDays,
      holdLimitDays,
      customerSearch: values.customer_search !== '',
      stockRequired: stockRequirements.find((one) => one === values.stock_required) ?? 'ask',
      vat,
      accountNames,
      datev: datev?.ok ? datev.value : null,
    },
  };
}

/** Returns the settings that cannot be changed, or only on another page. */
function factsPanel({ frame }: ConsoleServices, language: PageLanguage, { store, emails }: Settings): Markup {
  const text = settingsTexts[language];
  return markup`<dl class="facts"><dt>${text.currency}</dt><dd>${currencyText(store.currency, language)}</dd><dt>${text.domain}</dt><dd>${store.domain}</dd><dt>${text.emailLanguage}</dt><dd>${localeText(emails.locale, language)} · <a href="${frame.basePath}/settings/emails">${text.change}</a></dd></dl><p class="hint">${text.fixed}</p>`;
}

function limitsPage(page: Page, form: ShownForm<Field>, settings: Settings): ConsoleResponse {
  const text = page.text.settings;
  const setup = page.text.setup;
  const field = (...of: readonly [name: Field, label: string, hint?: string]) =>
    fieldOf(form, page.language, of);
  const count = new Intl.NumberFormat(page.language).format(page.services.lookups.perHour);
  const vatOptions = [
    { value: '', text: text.vatNone },
    ...vatKinds.map((value) => ({ value, text: text.vatKinds[value] })),
  ];
  // A choice is shown by its text, not by its name.
  const vatField = field('vat', text.vat, text.vatHint);
  const { now } = form;
  const vatNow = now && vatOptions.find(({ value }) => value === now.vat && value !== form.values.vat);
  const stockOptions = stockRequirements.map((value) => ({ value, text: text.stockChoices[value] }));
  const stockField = field('stock_required', text.stockRequired, text.stockRequiredHint);
  const accounts = journalAccounts.map((account) =>
    inputField({ ...field(`account_${account}`, text.accounts[account]), isOptional: true }),
  );
  const isAccountRejected = ([...accountFields, 'datev'] as const).some(
    (name) => form.errors[name] !== undefined,
  );
  const body = markup`<form class="stack" method="post" action="${page.basePath}/settings/limits">${formStart(page, form)}
<section class="panel stack" aria-labelledby="days"><h2 id="days">${text.days}</h2><div class="fields">${inputField({ ...field('time_zone', setup.timeZone, text.timeZoneHint), options: timeZoneOptions() })}</div>
${factsPanel(page.services, page.language, settings)}</section>
<section class="panel stack" aria-labelledby="limits"><h2 id="limits">${text.limits}</h2><div class="fields">${inputField({ ...field('issue_limit', setup.limit, setup.limitHint), inputMode: 'decimal', isOptional: true })}
${inputField({ ...field('lookup_failures', text.lookupFailures, fillPlain(text.lookupFailuresHint, { count })), inputMode: 'numeric', isOptional: true })}
${inputField({ ...field('undo_window', text.undoWindow, text.undoWindowHint), inputMode: 'numeric' })}
${inputField({ ...field('expiring_soon', text.expiringSoon, text.expiringSoonHint), inputMode: 'numeric' })}
${inputField({ ...field('hold_limit', text.holdLimit, text.holdLimitHint), inputMode: 'numeric' })}</div>
${checkField(form, page.language, ['customer_search', text.customerSearch, text.customerSearchHint])}
${select({ ...stockField, options: stockOptions })}</section>
<section class="panel stack" aria-labelledby="books"><h2 id="books">${text.books}</h2><div class="fields">${select({ ...vatField, ...(vatNow && { hint: fillPlain(text.now, { value: vatNow.text }) }), options: vatOptions })}
${inputField({ ...field('vat_rate', text.vatRate, text.vatRateHint), inputMode: 'decimal', isOptional: true })}</div>
<details${isAccountRejected ? markup` open` : undefined}><summary>${text.accountNames}</summary><div class="stack"><p class="hint">${text.accountNamesHint}</p><div class="fields">${accounts}
${inputField({ ...field('datev', text.datev, text.datevHint), isOptional: true })}</div></div></details></section>
<div class="row"><button class="button first">${text.save}</button></div></form>`;
  return pageOfSettings(page, { area: 'limits', form, body });
}

export const limitSettingsRoutes: readonly StaffRoute[] = [
  get('/settings/limits', 'changeSettings', async (page) => {
    const settings = await readSettings(page);
    const values = valuesOf(settings, page.language);
    return limitsPage(page, { values, errors: {}, base: baseOf('limits', settings) }, settings);
  }),
  post('/settings/limits', 'changeSettings', async (page) => {
    const settings = await readSettings(page);
    const values = typedFields(page.request, fields, valuesOf(settings, page.language));
    const made = (form: ShownForm<Field>) => limitsPage(page, form, settings);
    const shown = { area: 'limits', values, page: made } as const;
    const read = readLimits(values, settings.store, page.language);
    if (!read.ok) return await rejectedForm(page, shown, read.errors);
    return await saveSettings(page, {
      ...shown,
      changes: read.changes,
      emailChanges: {},
      valuesOf: (present) => valuesOf(present, page.language),
    });
  }),
];
