/** The audit log: what members of staff did. */

import { columns, integer, integerOrNull, text, type RowOf } from './columns.ts';
import { all, execute, sql, type Script } from './sql.ts';

/** What a member of staff did, or what was done for one. Movements of money are in the ledger as well. */
export const staffActionNames = [
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
  'card-issued',
  'card-changed',
  'card-disabled',
  'card-reenabled',
  'card-redeemed',
  'card-refunded',
  'card-credited',
  'hold-released',
  'code-sent',
  'cards-exported',
  'settings-changed',
  'token-created',
  'token-revoked',
  'webhook-changed',
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
  /** The card, member of staff, till, token or webhook that it concerns. */
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
