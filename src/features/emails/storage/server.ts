/**
 * The mail servers of stores. A store has at most two rows: the server that sends its emails, and a draft that replaces it
 * when the digits of a test email were typed. So emails are sent while a change is tested.
 */

import type { EmailServer, OpenedServer, ServerTls } from '../domain/server.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import { bytes, columns, integer, text, unchanged, type RowOf } from '../../../database/sql/columns.ts';
import { execute, first, sql, toNumberOrNull, type Script } from '../../../database/sql/sql.ts';

export type StoredServer = EmailServer & {
  readonly sealedPassword: Uint8Array;
  /** When the password was typed (ms). */
  readonly passwordSetAt: number;
  readonly updatedAt: number;
};

/** A server that is not verified yet. */
export type ServerDraft = StoredServer & {
  /** When the last test email was prepared (ms); null: none was, or its digits can no longer be typed. */
  readonly codeSentAt: number | null;
};

const servers = columns({
  host: text('host'),
  port: integer('port'),
  tls: unchanged<ServerTls>()('tls'),
  user_name: text('user'),
  sender: text('sender'),
  password: bytes('sealedPassword'),
  password_set_at: integer('passwordSetAt'),
  updated_at: integer('updatedAt'),
});

type BoundTo = Pick<EmailServer, 'host' | 'port' | 'user'>;

/** A sealed password is valid only for this server, port and user of this store. */
function boundTo(storeId: number, { host, port, user }: BoundTo): string {
  return JSON.stringify(['email server', storeId, host, port, user]);
}

export function sealServerPassword(
  { keys, random }: Context,
  storeId: number,
  server: BoundTo & { readonly password: Secret },
): Uint8Array {
  const plain = Buffer.from(server.password.reveal());
  return keys.seal('email-server', plain, boundTo(storeId, server), random.bytes(sealNonceLength));
}

/** @throws Error if the password was sealed for another store or server, or its key is missing. */
export function openServer(
  { keys }: Pick<Context, 'keys'>,
  storeId: number,
  { sealedPassword, updatedAt, ...server }: StoredServer,
): OpenedServer {
  const plain = keys.open('email-server', sealedPassword, boundTo(storeId, server));
  const sealed = Buffer.from(sealedPassword).toString('base64');
  const { host, port, tls, user, sender } = server;
  return {
    host,
    port,
    tls,
    user,
    sender,
    password: new Secret(Buffer.from(plain).toString()),
    // A seal has a random nonce, so it is different for every password that is typed.
    revision: JSON.stringify([host, port, tls, user, sender, sealed, updatedAt]),
  };
}

/** The server that sends a store's emails. */
export function* findEmailServer(storeId: number): Script<StoredServer | undefined> {
  const row = yield* first(sql<RowOf<typeof servers>>`
    select ${servers.names} from email_servers where store_id = ${storeId} and state = 'verified'`);
  return row && servers.read(row);
}

export function* findServerDraft(storeId: number): Script<ServerDraft | undefined> {
  const row = yield* first(sql<
    RowOf<typeof servers> & { code: Uint8Array | null; code_sent_at: bigint | null }
  >`
    select ${servers.names}, code, code_sent_at from email_servers
    where store_id = ${storeId} and state = 'draft'`);
  return row && { ...servers.read(row), codeSentAt: row.code && toNumberOrNull(row.code_sent_at) };
}

/** Replaces the draft. Digits of an earlier test email do not verify it. */
export function* saveServerDraft(storeId: number, server: StoredServer): Script<void> {
  yield* execute(sql`
    insert into email_servers (store_id, state, ${servers.names})
    values (${storeId}, 'draft', ${servers.values(server)})
    on conflict (store_id, state) do update set ${servers.excluded}, code = null, code_sent_at = null,
      code_attempts = 0`);
}

/** @param code the digest of the digits. */
export function* saveServerCode(
  storeId: number,
  { code, sentAt }: { readonly code: Uint8Array; readonly sentAt: number },
): Script<void> {
  yield* execute(sql`
    update email_servers set code = ${code}, code_sent_at = ${sentAt}, code_attempts = 0
    where store_id = ${storeId} and state = 'draft'`);
}

/** Removes the digits of a test email that was not sent. */
export function* removeServerCode(storeId: number, sentAt: number): Script<void> {
  yield* execute(sql`
    update email_servers set code = null
    where store_id = ${storeId} and state = 'draft' and code_sent_at = ${sentAt}`);
}

/**
 * Counts an attempt to type the digits.
 * @param sentAfter the test email must be newer (ms).
 * @returns the digest and when the email was sent; undefined: digits can no longer be typed.
 */
export function* countCodeAttempt(
  storeId: number,
  { sentAfter, attemptsMax }: { readonly sentAfter: number; readonly attemptsMax: number },
): Script<{ readonly code: Uint8Array; readonly sentAt: number } | undefined> {
  const row = yield* first(sql<{ code: Uint8Array | null; code_sent_at: bigint | null }>`
    update email_servers set code_attempts = code_attempts + 1
    where store_id = ${storeId} and state = 'draft' and code is not null and code_sent_at > ${sentAfter}
      and code_attempts < ${attemptsMax}
    returning code, code_sent_at`);
  const sentAt = row && toNumberOrNull(row.code_sent_at);
  return row?.code && typeof sentAt === 'number' ? { code: row.code, sentAt } : undefined;
}

/** Lets the draft send the store's emails. */
export function* useServerDraft(storeId: number, now: number): Script<void> {
  yield* execute(
    sql`delete from email_servers where store_id = ${storeId} and state = 'verified'`,
    sql`
      update email_servers set state = 'verified', code = null, updated_at = ${now}
      where store_id = ${storeId} and state = 'draft'`,
  );
}

/** Removes the server and the draft of a store. */
export function* removeEmailServers(storeId: number): Script<void> {
  yield* execute(sql`delete from email_servers where store_id = ${storeId}`);
}

/** Whether any store has a server of its own that sends. */
export function* hasEmailServers(): Script<boolean> {
  const row = yield* first(sql<{ one: bigint }>`
    select 1 as one from email_servers where state = 'verified' limit 1`);
  return row !== undefined;
}
