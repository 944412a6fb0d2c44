/**
 * The mail server of a store, which an owner sets. A new server is a draft until the owner has typed the digits of a test
 * email, so that a wrong one never replaces one that works.
 */

import { assertOwnersSetMachine } from '../../../core/stores/service/machine.ts';
import type { MachineRule } from '../../../core/stores/domain/machine.ts';
import {
  codeAttemptsMax,
  codePeriodMs,
  type EmailServer,
  type OpenedServer,
} from '../../emails/domain/server.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { sameBytes } from '../../../platform/keys.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  countCodeAttempt,
  findServerDraft,
  openServer,
  removeEmailServers,
  saveServerCode,
  saveServerDraft,
  sealServerPassword,
  useServerDraft,
  type StoredServer,
} from '../../emails/storage/server.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { openEmailServer, readEmailServers } from './server.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

export type ServerChange = {
  readonly rule: MachineRule;
  readonly server: EmailServer;
  /** Null: the stored one, which belongs to one host, port and user. */
  readonly password: Secret | null;
};

/** A server to test, and the digits of the test email. */
export type ServerTest = {
  readonly server: OpenedServer;
  readonly digits: string;
  /** Instant in ms. */
  readonly sentAt: number;
};

function entryOf(done: string, { host, port, user }: Pick<EmailServer, 'host' | 'port' | 'user'>) {
  const details = { fields: 'email_server', name: `${user} · ${host}:${port}`, [done]: true };
  return { action: 'settings-changed', subjectId: null, details } as const;
}

/**
 * Stores a server that a test email has to verify, with new digits for it.
 * @throws Fault `invalid-parameter` on `password` without a password for this host, port and user; `insufficient-scope` if
 * owners may not set it; as `assertMay` does.
 */
export function* draftEmailServer(
  ctx: Context,
  by: ByStaff,
  { rule, server, password }: ServerChange,
): Script<ServerTest> {
  const storeId = by.store.id;
  return yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      yield* assertOwnersSetMachine(by.store, rule);
      const now = ctx.clock.now();
      const sealed = password
        ? { sealedPassword: sealServerPassword(ctx, storeId, { ...server, password }), passwordSetAt: now }
        : yield* findSealedPassword(storeId, server);
      const stored = { ...server, ...sealed, updatedAt: now };
      yield* saveServerDraft(storeId, stored);
      const digits = digitsOf(ctx);
      const code = ctx.keys.digest('email-server-code', codeText(storeId, now, digits));
      yield* saveServerCode(storeId, { code, sentAt: now });
      return { server: openServer(ctx, storeId, stored), digits, sentAt: now };
    },
    entryOf: () => entryOf('test', server),
  });
}

/** The stored password of the same host, port and user. */
function* findSealedPassword(
  storeId: number,
  { host, port, user }: EmailServer,
): Script<Pick<StoredServer, 'sealedPassword' | 'passwordSetAt'>> {
  const { draft, verified } = yield* readEmailServers(storeId);
  const found = [draft, verified].find(
    (each) => each?.host === host && each.port === port && each.user === user,
  );
  if (!found) throw new Fault('invalid-parameter', { errors: { password: ['is required'] } });
  const { sealedPassword, passwordSetAt } = found;
  return { sealedPassword, passwordSetAt };
}

/** Six random digits. Of 2^32 values, the last ones are skipped, so that each number is as likely as the others. */
function digitsOf({ random }: Context): string {
  const numbers = 1_000_000;
  const accepted = Math.floor(2 ** 32 / numbers) * numbers;
  let value = accepted;
  while (value >= accepted) value = Buffer.from(random.bytes(4)).readUInt32BE();
  return String(value % numbers).padStart(6, '0');
}

function codeText(storeId: number, sentAt: number, digits: string): string {
  return `${storeId} ${sentAt} ${digits}`;
}

export type VerifiedServer =
  /** @param before the server that sent the store's emails until now. */
  | { readonly result: 'verified'; readonly before: OpenedServer | undefined; readonly server: OpenedServer }
  | { readonly result: 'wrong' }
  /** They were typed too late or too often, or no test email was sent. */
  | { readonly result: 'ended' };

/**
 * Compares typed digits with those of the test email, and lets the server send the store's emails.
 * @throws Fault `insufficient-scope` if owners may not set it; as `assertMay` does.
 */
export function* verifyEmailServer(
  ctx: Context,
  by: ByStaff,
  { rule, digits }: { readonly rule: MachineRule; readonly digits: string },
): Script<VerifiedServer> {
  const storeId = by.store.id;
  return yield* asStaff<VerifiedServer>(ctx, by, {
    permission: 'changeSettings',
    *change() {
      yield* assertOwnersSetMachine(by.store, rule);
      const now = ctx.clock.now();
      const attempt = { sentAfter: now - codePeriodMs, attemptsMax: codeAttemptsMax };
      const expected = yield* countCodeAttempt(storeId, attempt);
      if (!expected) return { result: 'ended' };
      const typed = ctx.keys.digests('email-server-code', codeText(storeId, expected.sentAt, digits));
      if (!typed.some((digest) => sameBytes(digest, expected.code))) return { result: 'wrong' };
      const draft = yield* findServerDraft(storeId);
      if (!draft) return { result: 'ended' };
      const before = yield* openEmailServer(ctx, storeId);
      yield* useServerDraft(storeId, now);
      return { result: 'verified', before, server: openServer(ctx, storeId, draft) };
    },
    entryOf: (verified) => (verified.result === 'verified' ? entryOf('verified', verified.server) : null),
  });
}

/**
 * Removes the server of a store, which sends no emails then.
 * @returns the server that sent them; undefined: there was none.
 * @throws Fault as `assertMay` does.
 */
export function* removeEmailServer(ctx: Context, by: ByStaff): Script<OpenedServer | undefined> {
  const storeId = by.store.id;
  const { before } = yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const { verified, draft } = yield* readEmailServers(storeId);
      yield* removeEmailServers(storeId);
      return { before: verified && openServer(ctx, storeId, verified), shown: verified ?? draft };
    },
    entryOf: ({ shown }) => (shown ? entryOf('removed', shown) : null),
  });
  return before;
}
