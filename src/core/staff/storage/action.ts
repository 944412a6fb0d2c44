/** The audit log: what members of staff did. */

import { columns, integer, integerOrNull, text, type RowOf } from '../../../database/sql/columns.ts';
import {
  all,
  execute,
  first,
  parallel,
  sql,
  toNumber,
  ValueList,
  type Script,
} from '../../../database/sql/sql.ts';

/** The actions by or for a member of staff. Movements of money are in the ledger as well. */
const staffActionNames = [
  'signed-in',
  'sign-in-failed',
  'signed-out',
  'pin-locked',
  'pin-unlocked',
  'session-ended',
  'password-changed',
  'pin-changed',
  'passkey-added',
  'passkey-removed',
  'staff-invited',
  'staff-joined',
  'staff-changed',
  'staff-disabled',
  'staff-enabled',
  'till-enrolled',
  'till-revoked',
  'till-locked',
  'till-moved',
  'till-paper-set',
  'location-added',
  'location-changed',
  'location-closed',
  'location-reopened',
  'card-issued',
  'card-changed',
  'card-disabled',
  'card-reenabled',
  'card-suspended',
  'card-resumed',
  'card-redeemed',
  'card-refunded',
  'card-credited',
  'hold-released',
  'sale-refunded',
  'sale-released',
  'sale-returned',
  'code-sent',
  'email-cancelled',
  'recipient-corrected',
  'cards-exported',
  'batch-checked',
  'batch-issued',
  'batch-codes-read',
  'batch-addresses-read',
  'batch-resent',
  'batch-corrected',
  'batch-cancelled',
  'batch-rescheduled',
  'stock-added',
  'stock-codes-read',
  'stock-voided',
  'settings-changed',
  'token-created',
  'token-revoked',
  'webhook-created',
  'webhook-changed',
  'webhook-deleted',
  'event-sent',
  'month-sent',
  'month-opened',
  'database-restored',
  'restore-confirmed',
] as const;

export type StaffActionName = (typeof staffActionNames)[number];

export type StaffAction = {
  readonly storeId: number;
  readonly id: number;
  /** Instant in ms. */
  readonly at: number;
  /** Null: the command line, or a person who did not sign in. */
  readonly staffId: number | null;
  readonly tillId: number | null;
  readonly action: StaffActionName;
  /** The card, member of staff, till, location, token or webhook that it concerns. */
  readonly subjectId: number | null;
  /** Names and values without codes, passwords, PINs and other secrets. */
  readonly details: Readonly<Record<string, string | number | boolean | null>>;
};

const actions = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  at: integer('at'),
  staff_id: integerOrNull('staffId'),
  till_id: integerOrNull('tillId'),
  action: text('action'),
  subject_id: integerOrNull('subjectId'),
  details: text('details'),
});

type ActionRow = RowOf<typeof actions>;

function toAction(row: ActionRow): StaffAction {
  const { action, details, ...rest } = actions.read(row);
  return {
    ...rest,
    // Only `insertStaffAction` writes rows.
    action: action as StaffActionName,
    details: JSON.parse(details) as StaffAction['details'],
  };
}

export function* insertStaffAction(action: StaffAction): Script<void> {
  const stored = { ...action, details: JSON.stringify(action.details) };
  yield* execute(sql`insert into staff_actions (${actions.names}) values (${actions.values(stored)})`);
}

/** The actions of a store before an id, newest first. */
export function* listStaffActions(
  storeId: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly StaffAction[]> {
  const rows = yield* all(sql<ActionRow>`
    select ${actions.names} from staff_actions where store_id = ${storeId} and id < ${before}
    order by id desc limit ${limit}`);
  return rows.map(toAction);
}

/** The actions to list. */
export type ActionFilter = {
  /** Only actions of this member, and failed attempts to sign in as this member. */
  readonly staffId?: number;
  readonly actions?: readonly StaffActionName[];
};

/** With a filter, so many actions are read at most, because there is no index of members or kinds. */
const scannedMax = 2_000;

export type ListedActions = {
  readonly actions: readonly StaffAction[];
  /** The oldest action that was read, if there are older ones; null: there are none. */
  readonly scannedTo: number | null;
};

/** The actions of a store before an id that match a filter, newest first. */
export function* searchStaffActions(
  storeId: number,
  {
    before,
    limit,
    filter: { staffId, actions: names } = {},
  }: { readonly before: number; readonly limit: number; readonly filter?: ActionFilter },
): Script<ListedActions> {
  const [anyone, anything] = [Number(staffId === undefined), Number(names === undefined)];
  const kinds = new ValueList(staffActionNames.map((_, place) => names?.[place] ?? ''));
  const scanned = anyone + anything === 2 ? limit : scannedMax;
  const [rows, last] = yield* parallel(
    all(sql<ActionRow>`
      select ${actions.names} from (
        select ${actions.names} from staff_actions where store_id = ${storeId} and id < ${before}
        order by id desc limit ${scanned}) recent
      where (${anyone} = 1 or staff_id = ${staffId ?? 0} 
          or (staff_id is null and subject_id = ${staffId ?? 0}
            and (action = 'sign-in-failed' or action = 'pin-locked')))
        and (${anything} = 1 or action in (${kinds}))
      order by id desc limit ${limit}`),
    first(sql<{ id: bigint }>`
      select id from staff_actions where store_id = ${storeId} and id < ${before}
      order by id desc limit 1 offset ${scanned - 1}`),
  );
  return { actions: rows.map(toAction), scannedTo: last ? toNumber(last.id) : null };
}

/** More cards than a page of actions has. */
const cardsMax = 50;

/** The last characters of the codes of up to 50 cards, by their ids. */
export function* listLastCharacters(
  storeId: number,
  ids: readonly number[],
): Script<ReadonlyMap<number, string>> {
  if (ids.length === 0) return new Map();
  const padded = new ValueList(Array.from({ length: cardsMax }, (_, place) => ids[place] ?? 0));
  const rows = yield* all(sql<{ id: bigint; last_characters: string }>`
    select id, last_characters from gift_cards where store_id = ${storeId} and id in (${padded})`);
  return new Map(rows.map((row) => [toNumber(row.id), row.last_characters]));
}
