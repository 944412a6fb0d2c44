/** The fields of the settings of the buy page: their values as people type them, and what they mean. */

import { emailTool } from '../../../emails/pages/tools.ts';
import type { Money } from '../../../../core/money/domain/money.ts';
import {
  frameDomainsMax,
  presetsMax,
  termsTextLengthMax,
  termsUrlLengthMax,
  workDemands,
  type SalePage,
} from '../../domain/rules.ts';
import { longerThan, parseText } from '../../../../core/domain/text.ts';
import { parseDomain } from '../../../../core/stores/domain/store.ts';
import { amountValue, parseTypedAmount } from '../../../../pages/kit/format.ts';
import type { Page } from '../../../../pages/kit/page-context.ts';
import { typedFields } from '../../../../pages/kit/request.ts';

const saleFields = [
  'presets',
  'min',
  'max',
  'validity_months',
  'terms_url',
  'terms_text',
  'privacy_url',
  'imprint_url',
  'frame_domains',
  'address_limit',
  'card_limit',
  'network_limit',
  'store_limit',
  'review_above',
  'reviews_first',
  'reviews_foreign',
  'country',
  'review_hours',
  'delay_minutes',
  'work',
] as const;

export type SaleField = (typeof saleFields)[number];
export type SaleValues = Readonly<Record<SaleField, string>>;
export type SaleFieldErrors = Readonly<Partial<Record<SaleField, string>>>;

/** The settings of the fields. */
export type SaleChanges = Omit<SalePage, 'storeId' | 'updatedAt'>;

export function saleValuesOf({ language }: Page, settings: SalePage): SaleValues {
  const amount = (money: Money | null): string => (money === null ? '' : amountValue(money, language));
  return {
    presets: settings.presets.map(amount).join('; '),
    min: amount(settings.min),
    max: amount(settings.max),
    validity_months: settings.validityMonths === null ? '' : String(settings.validityMonths),
    terms_url: settings.termsUrl ?? '',
    terms_text: settings.termsText ?? '',
    privacy_url: settings.privacyUrl ?? '',
    imprint_url: settings.imprintUrl ?? '',
    frame_domains: settings.frameDomains.join(' '),
    address_limit: amount(settings.addressLimit),
    card_limit: amount(settings.cardLimit),
    network_limit: amount(settings.networkLimit),
    store_limit: amount(settings.storeLimit),
    review_above: amount(settings.reviewAbove),
    reviews_first: settings.reviewsFirst ? 'yes' : '',
    reviews_foreign: settings.reviewsForeign ? 'yes' : '',
    country: settings.country ?? '',
    review_hours: String(settings.reviewHours),
    delay_minutes: String(settings.delayMinutes),
    work: settings.work,
  };
}

/** The ranges of whole numbers. Authorizations of payment cards last about a week, so the longest review is five days. */
const ranges = { months: [1, 600], hours: [1, 120], minutes: [0, 1_440] } as const;

function wholeNumber(text: string, [min, max]: readonly [number, number]): number | undefined {
  const number = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : undefined;
}

const listLengthMax = 3_000;

type Read =
  | { readonly ok: true; readonly changes: SaleChanges; readonly values: SaleValues }
  | { readonly ok: false; readonly errors: SaleFieldErrors; readonly values: SaleValues };

/** Reads a submitted form. @param present the settings as they are. */
export function readSaleForm(page: Page, present: SalePage): Read {
  const { store, language, services } = page;
  const { errors: texts } = page.text.saleSettings;
  const values = typedFields(page.request, saleFields, saleValuesOf(page, present));
  const errors: Partial<Record<SaleField, string>> = {};
  const reject = (field: SaleField, reason: keyof typeof texts): undefined => {
    errors[field] = texts[reason];
    return undefined;
  };
  const amountIn = (field: SaleField, text: string): Money | undefined => {
    const parsed = parseTypedAmount(text, store, { language });
    return parsed.ok ? parsed.value : reject(field, 'amount');
  };
  const limit = (field: SaleField): Money | null =>
    values[field] === '' ? null : (amountIn(field, values[field]) ?? null);
  const link = (field: 'terms_url' | 'privacy_url' | 'imprint_url'): string | null => {
    const text = values[field];
    if (text === '') return null;
    const parsed = text.length > termsUrlLengthMax ? undefined : services.tools.of(emailTool).parsePage(text);
    return parsed?.ok === true ? parsed.value : (reject(field, 'link') ?? null);
  };
  const whole = (field: SaleField, range: readonly [number, number], reason: keyof typeof texts): number =>
    wholeNumber(values[field], range) ?? reject(field, reason) ?? 0;
  const present_ = { min: present.min, max: present.max };
  const min = amountIn('min', values.min) ?? present_.min;
  const max = amountIn('max', values.max) ?? present_.max;
  if (!errors.min && !errors.max && min.minor > max.minor) reject('max', 'range');
  const changes: SaleChanges = {
    isOpen: present.isOpen,
    presets: presetsIn(values.presets, {
      read: (text) => amountIn('presets', text),
      isSold: ({ minor }) => minor >= min.minor && minor <= max.minor,
      reject: (reason) => reject('presets', reason),
    }),
    min,
    max,
    validityMonths: values.validity_months === '' ? null : whole('validity_months', ranges.months, 'months'),
    termsUrl: link('terms_url'),
    termsText:
      values.terms_text === ''
        ? null
        : (termsIn(values.terms_text) ?? reject('terms_text', 'termsText') ?? null),
    privacyUrl: link('privacy_url'),
    imprintUrl: link('imprint_url'),
    frameDomains: hostsIn(values.frame_domains) ?? reject('frame_domains', 'hosts') ?? [],
    addressLimit: limit('address_limit'),
    cardLimit: limit('card_limit'),
    networkLimit: limit('network_limit'),
    storeLimit: limit('store_limit'),
    reviewAbove: limit('review_above'),
    reviewsFirst: values.reviews_first !== '',
    reviewsForeign: values.reviews_foreign !== '',
    country:
      values.country === '' ? null : (countryIn(values.country) ?? reject('country', 'country') ?? null),
    reviewHours: whole('review_hours', ranges.hours, 'hours'),
    delayMinutes: whole('delay_minutes', ranges.minutes, 'minutes'),
    work: workDemands.find((each) => each === values.work) ?? present.work,
  };
  if (changes.reviewsForeign && changes.country === null && !errors.country)
    reject('country', 'countryMissing');
  return Object.keys(errors).length > 0 ? { ok: false, errors, values } : { ok: true, changes, values };
}

/** Amounts are separated by semicolons or line ends, because a comma can be a decimal sign. */
function presetsIn(
  text: string,
  {
    read,
    isSold,
    reject,
  }: {
    readonly read: (text: string) => Money | undefined;
    readonly isSold: (amount: Money) => boolean;
    readonly reject: (reason: 'presets' | 'presetRange') => void;
  },
): readonly Money[] {
  if (text.length > listLengthMax) {
    reject('presets');
    return [];
  }
  const parts = text.split(/[;\n]/).flatMap((part) => (part.trim() === '' ? [] : [part.trim()]));
  const amounts = parts.flatMap((part) => read(part) ?? []);
  if (amounts.length < parts.length) return [];
  const sorted = amounts.toSorted((left, right) => Number(left.minor - right.minor));
  const distinct = sorted.filter((each, place) => each.minor !== sorted[place - 1]?.minor);
  if (distinct.length > presetsMax) reject('presets');
  else if (!distinct.every(isSold)) reject('presetRange');
  return distinct;
}

/** The hosts of a list; undefined: it has something else, or too many. */
function hostsIn(text: string): readonly string[] | undefined {
  if (text.length > listLengthMax) return undefined;
  const parts = text.split(/[\s,;]+/).filter((part) => part !== '');
  const hosts = parts.flatMap((part) => {
    // People paste the address of a page.
    const [host = ''] = part.replace(/^https?:\/\//i, '').split('/', 1);
    const parsed = parseDomain(host);
    return parsed.ok ? [parsed.value] : [];
  });
  const distinct = [...new Set(hosts)];
  return hosts.length < parts.length || distinct.length > frameDomainsMax ? undefined : distinct;
}

/** The text of terms with single line ends; undefined: it is too long, or not a text. */
function termsIn(text: string): string | undefined {
  // Browsers send two characters for the end of a line.
  if (longerThan(text, 2 * termsTextLengthMax)) return undefined;
  const parsed = parseText(text.replaceAll('\r\n', '\n'), termsTextLengthMax);
  return parsed.ok ? (parsed.value ?? undefined) : undefined;
}

/** ISO 3166-1 alpha-2. */
function countryIn(text: string): string | undefined {
  const code = text.toUpperCase();
  return /^[A-Z]{2}$/.test(code) ? code : undefined;
}
