/**
 * What a member of staff may do at the counter: the role and the limits of the person, read again in the transaction of
 * the change, so that a new limit, another role or a disabled account counts at once.
 */

import { Fault } from '../domain/fault.ts';
import { exceeds, formatMoney, type Money } from '../domain/money.ts';
import { isPermitted, type Permission, type StaffMember } from '../domain/staff.ts';
import { findAccount, type StaffPlace } from '../storage/staff.ts';
import type { Script } from '../storage/sql.ts';

type MemberKey = Pick<StaffMember, 'storeId' | 'id'>;

/**
 * @returns the member as stored.
 * @throws Fault `unauthenticated` if the member is disabled, `insufficient-scope` if the role does not include the permission.
 */
export function* assertMay(
  store: StaffPlace,
  { id }: Pick<StaffMember, 'id'>,
  permission: Permission,
): Script<StaffMember> {
  const account = yield* findAccount(store, id);
  if (!account) throw new Fault('unauthenticated');
  if (!isPermitted(account.member.role, permission)) throw new Fault('insufficient-scope');
  return account.member;
}

/**
 * Checks an amount that a member sells: the value of a new card, or what is added to a card.
 * @throws Fault as `assertMay` does; `invalid-parameter` on `amount`, with the extension `sale_limit`, above the limit.
 */
export function* assertMaySell(member: MemberKey, amount: Money): Script<void> {
  const { saleLimit } = yield* assertMay(placeOf(member, amount), member, 'useTill');
  if (saleLimit && exceeds(amount, saleLimit)) throw aboveOwnLimit('sale_limit', saleLimit);
}

/**
 * Checks the amount of one refund.
 * @throws Fault as `assertMay` does; `invalid-parameter` on `amount`, with the extension `refund_limit`, above the limit.
 */
export function* assertMayRefund(member: MemberKey, amount: Money): Script<void> {
  const { refundLimit } = yield* assertMay(placeOf(member, amount), member, 'useTill');
  if (refundLimit && exceeds(amount, refundLimit)) throw aboveOwnLimit('refund_limit', refundLimit);
}

/** The limits are in the currency of the amount, which is that of the store. */
function placeOf({ storeId }: MemberKey, { currency }: Money): StaffPlace {
  return { id: storeId, currency };
}

/** The extension that names a limit of a person. */
type LimitName = 'sale_limit' | 'refund_limit';

function aboveOwnLimit(name: LimitName, limit: Money): Fault {
  const text = formatMoney(limit);
  return new Fault('invalid-parameter', {
    detail: `The amount is above the person's limit of ${text} ${limit.currency.code}.`,
    errors: { amount: [`must be at most ${text}, the person's limit`] },
    extensions: { [name]: text },
  });
}
