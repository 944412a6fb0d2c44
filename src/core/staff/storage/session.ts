/** Sessions of members of staff. Only the hashes of their tokens are stored. */

import { columns, integer, integerOrNull, text, type RowOf } from '../../../database/sql/columns.ts';
import { all, execute, first, sql, type Script } from '../../../database/sql/sql.ts';

export type StaffSession = {
  readonly storeId: number;
  readonly id: number;
  readonly staffId: number;
  /** The till on which it was opened with a PIN; null: it was opened with a password or a passkey. */
  readonly tillId: number | null;
  /** The browser, as it described itself, at most 200 characters. */
  readonly userAgent: string;
  /** Instants in ms. */
  readonly createdAt: number;
  /** When the password or passkey was last presented; null: never in this session. */
  readonly authenticatedAt: number | null;
  /** To within the time after which a use extends the session. */
  readonly lastUsedAt: number;
  readonly expiresAt: number;
  readonly endedAt: number | null;
  /** The location at which a person who is limited to some has chosen to work in the office; null: no choice yet. */
  readonly locationId: number | null;
};

const sessions = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  staff_id: integer('staffId'),
  till_id: integerOrNull('tillId'),
  user_agent: text('userAgent'),
  created_at: integer('createdAt'),
  authenticated_at: integerOrNull('authenticatedAt'),
  last_used_at: integer('lastUsedAt'),
  expires_at: integer('expiresAt'),
  ended_at: integerOrNull('endedAt'),
  location_id: integerOrNull('locationId'),
});

type SessionRow = RowOf<typeof sessions>;

export function* insertSession(session: StaffSession, hash: Uint8Array): Script<void> {
  yield* execute(sql`
    insert into staff_sessions (${sessions.names}, hash) values (${sessions.values(session)}, ${hash})`);
}

/** Finds an open session by the SHA-256 hash of its token. */
export function* findOpenSession(
  storeId: number,
  { hash, now }: { readonly hash: Uint8Array; readonly now: number },
): Script<StaffSession | undefined> {
  const row = yield* first(sql<SessionRow>`
    select ${sessions.names} from staff_sessions
    where store_id = ${storeId} and hash = ${hash} and ended_at is null and expires_at > ${now}`);
  return row && sessions.read(row);
}

/** More open sessions of a person than a page shows. */
export const openSessionsMax = 50;

/** The open sessions of a member of staff, newest first, at most 50. */
export function* listOpenSessions(
  storeId: number,
  { staffId, now }: { readonly staffId: number; readonly now: number },
): Script<readonly StaffSession[]> {
  const rows = yield* all(sql<SessionRow>`
    select ${sessions.names} from staff_sessions
    where store_id = ${storeId} and staff_id = ${staffId} and ended_at is null and expires_at > ${now}
    order by id desc limit ${openSessionsMax}`);
  return rows.map(sessions.read);
}

/** Records the use of an open session, unless another request has recorded a later one. */
export function* extendSession({ storeId, id, lastUsedAt, expiresAt }: StaffSession): Script<void> {
  yield* execute(sql`
    update staff_sessions set last_used_at = ${lastUsedAt}, expires_at = ${expiresAt}
    where store_id = ${storeId} and id = ${id} and ended_at is null and last_used_at < ${lastUsedAt}`);
}

/** Records that the password or passkey was presented again. */
export function* recordAuthentication({ storeId, id }: StaffSession, now: number): Script<void> {
  yield* execute(sql`
    update staff_sessions set authenticated_at = ${now} where store_id = ${storeId} and id = ${id}`);
}

/** Records where the person works in the office from now on. */
export function* moveSession({ storeId, id }: StaffSession, locationId: number): Script<void> {
  yield* execute(sql`
    update staff_sessions set location_id = ${locationId} where store_id = ${storeId} and id = ${id}`);
}

/** Ends one session of a member of staff. @returns whether it was open. */
export function* endSession(
  { storeId, id, staffId }: Pick<StaffSession, 'storeId' | 'id' | 'staffId'>,
  now: number,
): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update staff_sessions set ended_at = ${now}
    where store_id = ${storeId} and id = ${id} and staff_id = ${staffId} and ended_at is null returning id`);
  return row !== undefined;
}

/** Ends all sessions of a member of staff. @param except the id of a session that continues; null: none. */
export function* endSessionsOf(
  storeId: number,
  {
    staffId,
    except,
    now,
  }: { readonly staffId: number; readonly except: number | null; readonly now: number },
): Script<void> {
  yield* execute(sql`
    update staff_sessions set ended_at = ${now}
    where store_id = ${storeId} and staff_id = ${staffId} and ended_at is null and id <> ${except ?? 0}`);
}

/** Ends all sessions that were opened on a till. */
export function* endSessionsOnTill(storeId: number, tillId: number, now: number): Script<void> {
  yield* execute(sql`
    update staff_sessions set ended_at = ${now}
    where store_id = ${storeId} and till_id = ${tillId} and ended_at is null`);
}
