/** Members of staff, their passwords and PINs. */

import type { Currency } from '../../money/domain/currency.ts';
import type { EmailAddress } from '../../domain/email-address.ts';
import type { Money } from '../../money/domain/money.ts';
import { isRole, type StaffMember } from '../domain/staff.ts';
import { columns, integer, integerOrNull, text, type RowOf } from '../../../database/sql/columns.ts';
import {
  all,
  execute,
  first,
  lock,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from '../../../database/sql/sql.ts';
import { forUpdate } from '../../../database/sql/fragments.ts';

/** A member of staff as it is stored. Limits are in minor units of the store's currency. */
type StoredMember = Omit<StaffMember, 'saleLimit' | 'refundLimit'> & {
  readonly saleLimit: number | null;
  readonly refundLimit: number | null;
};

const staff = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  name: text('name'),
  email: text('email'),
  role: {
    field: 'role',
    read(stored: string) {
      if (!isRole(stored)) throw new Error(`unknown role ${stored}`);
      return stored;
    },
    write: ({ role }: Pick<StoredMember, 'role'>) => role,
  },
  sale_limit: integerOrNull('saleLimit'),
  refund_limit: integerOrNull('refundLimit'),
  created_at: integer('createdAt'),
  joined_at: integerOrNull('joinedAt'),
  disabled_at: integerOrNull('disabledAt'),
  location_ids: {
    field: 'locationIds',
    read: (stored: string | null) => stored?.split(' ').map(Number) ?? null,
    write: ({ locationIds }: Pick<StoredMember, 'locationIds'>) => locationIds?.join(' ') ?? null,
  },
});

type StaffRow = RowOf<typeof staff>;

function toMember(row: StaffRow, currency: Currency): StaffMember {
  const { saleLimit, refundLimit, ...member } = staff.read(row);
  const moneyOf = (minor: number | null): Money | null =>
    minor === null ? null : { minor: BigInt(minor), currency };
  return { ...member, saleLimit: moneyOf(saleLimit), refundLimit: moneyOf(refundLimit) };
}

function storedOf(member: StaffMember): StoredMember {
  const { saleLimit, refundLimit } = member;
  return {
    ...member,
    saleLimit: saleLimit && toNumber(saleLimit.minor),
    refundLimit: refundLimit && toNumber(refundLimit.minor),
  };
}

/** The store of a member of staff: its currency is that of the limits. */
export type StaffPlace = { readonly id: number; readonly currency: Currency };

/** @returns whether the member was inserted; false if the address is taken. */
export function* insertStaffMember(member: StaffMember, address: EmailAddress): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    insert into staff (${staff.names}, email_key) values (${staff.values(storedOf(member))}, ${address.key})
    on conflict (store_id, email_key) do nothing returning id`);
  return row !== undefined;
}

/** Replaces the name, role, limits and locations, and whether the member is disabled. */
export function* updateStaffMember(member: StaffMember): Script<void> {
  const { storeId, id, name, role, saleLimit, refundLimit, disabledAt, locationIds } = storedOf(member);
  yield* execute(sql`
    update staff set name = ${name}, role = ${role}, sale_limit = ${saleLimit}, refund_limit = ${refundLimit},
      disabled_at = ${disabledAt}, location_ids = ${locationIds?.join(' ') ?? null}
    where store_id = ${storeId} and id = ${id}`);
}

export function* findStaffMember(store: StaffPlace, id: number): Script<StaffMember | undefined> {
  const row = yield* first(sql<StaffRow>`
    select ${staff.names} from staff where store_id = ${store.id} and id = ${id}`);
  return row && toMember(row, store.currency);
}

/** A member of staff with the hashes that sign-in compares. */
export type StaffAccount = {
  readonly member: StaffMember;
  readonly password: string | null;
  readonly pin: string | null;
  readonly pinFailures: number;
};

type AccountRow = StaffRow & {
  readonly password: string | null;
  readonly pin: string | null;
  readonly pin_failures: bigint;
};

function toAccount(row: AccountRow, currency: Currency): StaffAccount {
  const { password, pin, pin_failures: pinFailures } = row;
  return { member: toMember(row, currency), password, pin, pinFailures: toNumber(pinFailures) };
}

/** Finds an account that is not disabled by its address. */
export function* findAccountByEmail(
  store: StaffPlace,
  { key }: EmailAddress,
): Script<StaffAccount | undefined> {
  const row = yield* first(sql<AccountRow>`
    select ${staff.names}, password, pin, pin_failures from staff
    where store_id = ${store.id} and email_key = ${key} and disabled_at is null`);
  return row && toAccount(row, store.currency);
}

/** Finds an account that is not disabled. */
export function* findAccount(store: StaffPlace, id: number): Script<StaffAccount | undefined> {
  const row = yield* first(sql<AccountRow>`
    select ${staff.names}, password, pin, pin_failures from staff
    where store_id = ${store.id} and id = ${id} and disabled_at is null`);
  return row && toAccount(row, store.currency);
}

/** All members of staff, by name, disabled ones last. */
export function* listStaff(store: StaffPlace): Script<readonly StaffMember[]> {
  const rows = yield* all(sql<StaffRow>`
    select ${staff.names} from staff where store_id = ${store.id}
    order by disabled_at is not null, name, id`);
  return rows.map((row) => toMember(row, store.currency));
}

/** Whether a store other than the demonstration store has an owner who has joined. */
export function* hasOwner(): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    select f.id from staff f join stores s on s.id = f.store_id
    where s.demonstration = 0 and f.role = 'owner' and f.joined_at is not null and f.disabled_at is null limit 1`);
  return row !== undefined;
}

/** Locks a member of staff until the transaction ends, and waits for the lock: what the caller reads next is newer. */
export function* lockStaffMember(storeId: number, id: number): Script<void> {
  yield* all(lock`select id from staff where store_id = ${storeId} and id = ${id} ${forUpdate}`);
}

/** Locks the owners who can sign in, so that two changes cannot remove the last two. */
export function* lockOwners(storeId: number): Script<void> {
  yield* execute(lock`
    select id from staff where store_id = ${storeId} and role = 'owner' order by id ${forUpdate}`);
}

/** Counts the owners who can sign in. */
export function* countOwners(storeId: number): Script<number> {
  const rows = yield* all(sql<{ id: bigint }>`
    select id from staff
    where store_id = ${storeId} and role = 'owner' and joined_at is not null and disabled_at is null`);
  return rows.length;
}

/** Sets a password, or removes it with null. The first one makes the person a member. */
export function* updatePassword(
  { storeId, id }: Pick<StaffMember, 'storeId' | 'id'>,
  { password, now }: { readonly password: string; readonly now: number },
): Script<void> {
  yield* execute(sql`
    update staff set password = ${password}, joined_at = coalesce(joined_at, ${now}), pin_failures = 0
    where store_id = ${storeId} and id = ${id}`);
}

/** Records that a person has a way to sign in, the first time. */
export function* markJoined({ storeId, id }: Pick<StaffMember, 'storeId' | 'id'>, now: number): Script<void> {
  yield* execute(sql`
    update staff set joined_at = ${now} where store_id = ${storeId} and id = ${id} and joined_at is null`);
}

/** The ways in which a member signs in, and when the last session was used. */
export type StaffAccess = {
  readonly hasPassword: boolean;
  readonly hasPin: boolean;
  readonly pinFailures: number;
  /** When a session was last used (ms); null: there is none. */
  readonly lastUsedAt: number | null;
};

/** The ways in which the members of a store sign in, by their ids. */
export function* listStaffAccess(storeId: number): Script<ReadonlyMap<number, StaffAccess>> {
  type Row = {
    readonly id: bigint;
    readonly has_password: bigint;
    readonly has_pin: bigint;
    readonly pin_failures: bigint;
    readonly last_used_at: bigint | null;
  };
  const rows = yield* all(sql<Row>`
    select f.id, case when f.password is null then 0 else 1 end as has_password,
      case when f.pin is null then 0 else 1 end as has_pin, f.pin_failures,
      (select max(s.last_used_at) from staff_sessions s
        where s.store_id = ${storeId} and s.staff_id = f.id) as last_used_at
    from staff f where f.store_id = ${storeId}`);
  return new Map(
    rows.map((row) => [
      toNumber(row.id),
      {
        hasPassword: toNumber(row.has_password) === 1,
        hasPin: toNumber(row.has_pin) === 1,
        pinFailures: toNumber(row.pin_failures),
        lastUsedAt: toNumberOrNull(row.last_used_at),
      },
    ]),
  );
}

export function* updatePin(
  { storeId, id }: Pick<StaffMember, 'storeId' | 'id'>,
  pin: string | null,
): Script<void> {
  yield* execute(sql`
    update staff set pin = ${pin}, pin_failures = 0 where store_id = ${storeId} and id = ${id}`);
}

/**
 * Counts an attempt before the PIN is compared, so that concurrent attempts cannot exceed the maximum.
 * @returns the number of attempts since the last right one; undefined if another one is not allowed.
 */
export function* reservePinAttempt(
  { storeId, id }: Pick<StaffMember, 'storeId' | 'id'>,
  attemptsMax: number,
): Script<number | undefined> {
  const row = yield* first(sql<{ pin_failures: bigint }>`
    update staff set pin_failures = pin_failures + 1
    where store_id = ${storeId} and id = ${id} and pin is not null and pin_failures < ${attemptsMax}
    returning pin_failures`);
  return row && toNumber(row.pin_failures);
}

/** Gives back an attempt that was counted and not compared, unless a right PIN has reset the count since. */
export function* returnPinAttempt({ storeId, id }: Pick<StaffMember, 'storeId' | 'id'>): Script<void> {
  yield* execute(sql`
    update staff set pin_failures = pin_failures - 1
    where store_id = ${storeId} and id = ${id} and pin_failures > 0`);
}

/** After a right PIN, or a sign-in with a password or passkey. */
export function* resetPinFailures({ storeId, id }: Pick<StaffMember, 'storeId' | 'id'>): Script<void> {
  yield* execute(sql`
    update staff set pin_failures = 0 where store_id = ${storeId} and id = ${id} and pin_failures > 0`);
}

export type PinHolder = {
  readonly member: StaffMember;
  /** Wrong PINs since the last right one. */
  readonly failures: number;
};

/** The members of staff who have a PIN and are not disabled, by name. */
export function* listPinHolders(store: StaffPlace, limit: number): Script<readonly PinHolder[]> {
  const rows = yield* all(sql<StaffRow & { pin_failures: bigint }>`
    select ${staff.names}, pin_failures from staff
    where store_id = ${store.id} and pin is not null and joined_at is not null and disabled_at is null
    order by name, id limit ${limit}`);
  return rows.map((row) => ({ member: toMember(row, store.currency), failures: toNumber(row.pin_failures) }));
}
