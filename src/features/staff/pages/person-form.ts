/** The fields of a person: of an invitation, and of a member of staff. */

import {
  ownLocationsMax,
  parseStaffName,
  isRole,
  roles,
  type Role,
  type StaffMember,
} from '../../../core/staff/domain/staff.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { Fault, type ErrorsByField } from '../../../core/domain/fault.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { hidden, inputField, select } from '../../../pages/kit/form.ts';
import { amountValue, parseTypedAmount } from '../../../pages/kit/format.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { typedFields } from '../../../pages/kit/request.ts';
import type { ConsoleResponse } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';

const fields = ['name', 'email', 'role', 'sale_limit', 'refund_limit', 'locations'] as const;

/** The texts of the fields. That of the locations has their ids, space-separated. */
export type PersonValues = Readonly<Record<(typeof fields)[number], string>>;

export type PersonErrors = Partial<Record<keyof PersonValues | 'disabled', string>>;

const typedLengthMax = 400;

/** The typed values. @param present the values that fields keep which the form does not have. */
export function typedPerson({ request }: Page, present: PersonValues): PersonValues {
  const entries = Object.entries(typedFields(request, fields, present));
  const shortened = entries.map(([name, value]) => [name, value.slice(0, typedLengthMax)]);
  // A form without the choice of locations has none, so that it does not remove the limit.
  const chosen = request.form.has('locations') && {
    locations: [...request.form.keys()].flatMap((name) => /^at_(\d{1,16})$/.exec(name)?.[1] ?? []).join(' '),
  };
  return { ...(Object.fromEntries(shortened) as PersonValues), ...chosen };
}

export function valuesOfMember({ language }: Page, member: StaffMember): PersonValues {
  const { name, email, role, saleLimit, refundLimit, locationIds } = member;
  const shown = (limit: Money | null): string => (limit === null ? '' : amountValue(limit, language));
  const locations = locationIds?.join(' ') ?? '';
  return { name, email, role, sale_limit: shown(saleLimit), refund_limit: shown(refundLimit), locations };
}

/** The choice of locations; closed ones only if the person is limited to them. A store without locations has no field. */
function locationFields(
  { text: { staff: text } }: Page,
  { chosen, error }: { readonly chosen: string; readonly error: string | undefined },
  locations: readonly Location[],
): Markup | undefined {
  const own = new Set(chosen.split(' '));
  const offered = locations.filter(({ id, closedAt }) => closedAt === null || own.has(String(id)));
  if (offered.length === 0) return undefined;
  const boxes = offered.map(({ id, name }) => {
    const checked = own.has(String(id)) ? markup` checked` : undefined;
    return markup`<label class="check"><input type="checkbox" name="at_${String(id)}" value="1"${checked}><span>${name}</span></label>
`;
  });
  const message =
    error === undefined ? undefined : markup`<p class="error" id="locations-error">${error}</p>`;
  const described = markup` aria-describedby="locations-hint${message && ' locations-error'}"`;
  return markup`<fieldset${described}><legend>${text.onlyAt}</legend>${hidden('locations', 'chosen')}
<p class="hint" id="locations-hint">${text.onlyAtHint}</p>
${boxes}${message}</fieldset>`;
}

/** The fields of the name, the role, the limits and the locations. */
export function personFields(
  page: Page,
  { values, errors }: { readonly values: PersonValues; readonly errors: PersonErrors },
  locations: readonly Location[],
): Markup {
  const { text: texts } = page;
  const { staff: text, frame } = texts;
  const options = roles.map((role) => ({
    value: role,
    text: `${frame.roles[role]} · ${text.roleTexts[role]}`,
  }));
  const limit = { kind: 'limit', inputMode: 'decimal', isOptional: true } as const;
  return markup`${inputField({ name: 'name', label: text.name, value: values.name, error: errors.name })}
${select({ name: 'role', label: text.role, options, value: values.role, error: errors.role })}
<div class="fields">${inputField({ ...limit, name: 'sale_limit', label: text.saleLimit, value: values.sale_limit, hint: text.saleLimitHint, error: errors.sale_limit })}
${inputField({ ...limit, name: 'refund_limit', label: text.refundLimit, value: values.refund_limit, hint: text.refundLimitHint, error: errors.refund_limit })}</div>
${locationFields(page, { chosen: values.locations, error: errors.locations }, locations)}`;
}

export function statusOf(errors: PersonErrors): 200 | 422 {
  return Object.values(errors).some((error) => error !== undefined) ? 422 : 200;
}

type PersonFields = Pick<StaffMember, 'name' | 'saleLimit' | 'refundLimit' | 'locationIds'> & {
  readonly role: Role;
};

/** The fields of the form, or their errors. */
export function readPerson(
  { text: { staff: text }, store, language }: Page,
  values: PersonValues,
): { readonly fields: PersonFields } | { readonly errors: PersonErrors } {
  const name = parseStaffName(values.name);
  const limitOf = (typed: string) =>
    typed === ''
      ? { ok: true as const, value: null }
      : parseTypedAmount(typed, store, { language, zeroAllowed: true });
  const [sale, refund] = [limitOf(values.sale_limit), limitOf(values.refund_limit)];
  const { role } = values;
  if (name.ok && isRole(role) && sale.ok && refund.ok)
    return {
      fields: {
        name: name.value,
        role,
        saleLimit: sale.value,
        refundLimit: refund.value,
        locationIds: values.locations === '' ? null : values.locations.split(' ').map(Number),
      },
    };
  const hundred = { minor: 100n * 10n ** BigInt(store.currency.decimals), currency: store.currency };
  const limitInvalid = fillPlain(text.limitInvalid, { example: amountValue(hundred, language) });
  return {
    errors: {
      ...(!name.ok && { name: text.nameInvalid }),
      ...(!isRole(role) && { role: text.roleInvalid }),
      ...(!sale.ok && { sale_limit: limitInvalid }),
      ...(!refund.ok && { refund_limit: limitInvalid }),
    },
  };
}

/** The error of the locations. */
export function locationsError(
  { text: { staff: text } }: Page,
  { role }: Pick<PersonValues, 'role'>,
): Pick<PersonErrors, 'locations'> {
  const tooMany = fillPlain(text.locationsInvalid, { count: ownLocationsMax });
  return { locations: role === 'owner' ? text.ownerEverywhere : tooMany };
}

/** Runs a change, and shows the errors of its fields. */
export async function orErrors(
  run: () => Promise<ConsoleResponse>,
  show: (errors: ErrorsByField) => ConsoleResponse | Promise<ConsoleResponse>,
): Promise<ConsoleResponse> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof Fault && error.code === 'invalid-parameter' && error.errors)
      return await show(error.errors);
    throw error;
  }
}
