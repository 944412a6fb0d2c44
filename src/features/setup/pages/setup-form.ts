/** The two forms of the first run: what was typed, and its errors, each at its field. */

import type { ErrorsOf } from '../../../pages/kit/form.ts';
import type { Currency } from '../../../core/money/domain/currency.ts';
import { parseEmail, type EmailAddress } from '../../../core/domain/email-address.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { parseStaffName, passwordProblem } from '../../../core/staff/domain/staff.ts';
import {
  hostOfWebsite,
  domainOfName,
  parseDomain,
  parseStoreName,
  undoWindowDefaultMinutes,
} from '../../../core/stores/domain/store.ts';
import type { SetupShop } from '../service/setup.ts';
import { amountText, parseTypedAmount } from '../../../pages/kit/format.ts';
import { formText, type ConsoleRequest } from '../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import { parseCurrency, parseTimeZone, suggestedLimit } from './setup-choices.ts';
import { fillPlain, type PageLanguage, textsOf } from '../../../pages/kit/texts.ts';
import { setupTexts } from './welcome.ts';

/** The texts of passwords. */
const gate = textsOf('gate');

/** The fields of the shop, in their order. */
export const shopFields = ['shop', 'currency', 'time_zone', 'locale', 'limit', 'domain'] as const;

export type ShopField = (typeof shopFields)[number];
export type ShopValues = Readonly<Record<ShopField, string>>;

type Form = Pick<ConsoleRequest, 'form' | 'language'>;

export function shopValuesOf(request: Form): ShopValues {
  const values = shopFields.map((name) => [name, formText(request, name)] as const);
  return Object.fromEntries(values) as ShopValues;
}

export type OwnerValues = {
  readonly name: string;
  readonly email: string;
  readonly store: string;
  /** The way in which the owner signs in. */
  readonly how: 'passkey' | 'password';
};

export type OwnerField = keyof OwnerValues | 'password';

export function ownerValuesOf(request: Form): OwnerValues {
  return {
    name: formText(request, 'name'),
    email: formText(request, 'email'),
    store: formText(request, 'store'),
    how: formText(request, 'how') === 'passkey' ? 'passkey' : 'password',
  };
}

type Read<Value, Field extends string> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly errors: ErrorsOf<Field> };

export type NewShop = {
  readonly shop: Extract<SetupShop, { readonly locale: string }>;
  readonly name: string;
  readonly currency: Currency;
};

/** Parses the fields of the shop. */
export function readShop(
  values: ShopValues,
  { emailLocales }: Pick<ConsoleServices, 'emailLocales'>,
  language: PageLanguage,
): Read<NewShop, ShopField> {
  const text = setupTexts[language];
  const errors: Partial<Record<ShopField, string>> = {};
  const name = parseStoreName(values.shop);
  if (!name.ok) errors.shop = values.shop === '' ? text.nameMissing : text.nameInvalid;
  const currency = parseCurrency(values.currency, language);
  if (!currency) errors.currency = text.currencyInvalid;
  const timeZone = parseTimeZone(values.time_zone);
  if (timeZone === undefined) errors.time_zone = text.timeZoneInvalid;
  const locale = emailLocales.find((tag) => tag === values.locale);
  if (locale === undefined) errors.locale = text.localeInvalid;
  let issueLimit: Money | null = null;
  if (currency && values.limit !== '') {
    const limit = parseTypedAmount(values.limit, { currency }, { language });
    if (limit.ok) issueLimit = limit.value;
    else {
      const example = amountText(suggestedLimit(currency), language);
      errors.limit = fillPlain(text.limitInvalid, { currency: currency.code, example });
    }
  }
  const domain = parseDomain(
    values.domain === '' && name.ok ? domainOfName(name.value) : hostOfWebsite(values.domain),
  );
  if (!domain.ok && values.domain !== '') errors.domain = text.domainInvalid;
  if (!name.ok || !currency || timeZone === undefined || locale === undefined || !domain.ok)
    return { ok: false, errors };
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  const settings = {
    domain: domain.value,
    name: name.value,
    currency,
    timeZone,
    issueLimit,
    proxySecret: null,
    requireSignature: false,
    customerSearch: false,
    stockRequired: 'no' as const,
    undoWindowMinutes: undoWindowDefaultMinutes,
  };
  return { ok: true, value: { shop: { settings, locale }, name: name.value, currency } };
}

type Owner = {
  readonly name: string;
  readonly email: EmailAddress;
  /** In Unicode normalization form C; null: the owner joins with a passkey. */
  readonly password: string | null;
};

/** Parses the fields of the owner. @param shop the names of the shop, which the password must not be made of. */
export function readOwner(
  { form, language }: Form,
  values: OwnerValues,
  shop: readonly string[],
): Read<Owner, OwnerField> {
  const text = setupTexts[language];
  const errors: Partial<Record<OwnerField, string>> = {};
  const [name, email] = [parseStaffName(values.name), parseEmail(values.email)];
  if (!name.ok) errors.name = values.name === '' ? text.yourNameMissing : text.yourNameInvalid;
  if (!email.ok) errors.email = text.emailInvalid;
  const typed = form.get('password') ?? '';
  const own = [values.name, values.email, ...shop];
  const problem = values.how === 'passkey' ? undefined : passwordProblem(typed, own);
  if (problem !== undefined) errors.password = gate[language].passwordProblems[problem];
  if (!name.ok || !email.ok || problem !== undefined) return { ok: false, errors };
  const password = values.how === 'passkey' ? null : typed.normalize('NFC');
  return { ok: true, value: { name: name.value, email: email.value, password } };
}
