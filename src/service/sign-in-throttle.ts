/**
 * The limit on attempts to sign in. A wrong password uses a share of budgets that refill continuously: one of the client
 * for this account, one of all clients for this account, and one of the client for all accounts. A browser in which the person has signed in before has a
 * budget of its own instead, so that other clients cannot lock the person out.
 */

import type { Context } from '../context.ts';
import { sameBytes } from '../keys.ts';
import {
  findRefilledAt,
  insertFailedLookup,
  returnShare,
  type LookupCaller,
} from '../storage/lookup-throttle.ts';
import type { Script } from '../storage/sql.ts';
import { lookupPeriodMs } from './lookup-throttle.ts';

/** Wrong passwords per hour of one client or one known browser for one account. */
const perClient = 10;
/** Wrong passwords per hour for one account in browsers that are not known. */
const perAccount = 100;
/** Wrong passwords per hour of one client for all accounts. Each adds an entry to the audit log. */
const perClientInAll = 100;

/** An account that a client wants to sign in to. It need not exist. */
export type SignInAccount = {
  readonly storeId: number;
  /** The compared form of the address. */
  readonly email: string;
};

export type SignInKey = SignInAccount & {
  /** The key of the client's address. */
  readonly client: string;
  /** The id of a browser in which the person has signed in before; null: it is not known. */
  readonly browser: string | null;
};

export type SignInAttempt =
  { readonly isAllowed: true } | { readonly isAllowed: false; readonly waitMs: number };

/** Uses a share of each budget before the password is compared, so that concurrent attempts cannot exceed them. */
export function* reserveSignIn(ctx: Context, key: SignInKey): Script<SignInAttempt> {
  const now = ctx.clock.now();
  for (const { caller, shareMs } of budgetsOf(ctx, key)) {
    const periods = { periodMs: lookupPeriodMs, aheadMaxMs: 2 * lookupPeriodMs };
    if ((yield* insertFailedLookup(caller, { now, shareMs, ...periods })) !== undefined) continue;
    const refilledAt = (yield* findRefilledAt(caller)) ?? now;
    return { isAllowed: false, waitMs: Math.max(1, refilledAt - now - (lookupPeriodMs - shareMs)) };
  }
  return { isAllowed: true };
}

/** Returns the shares of an attempt whose password was right. */
export function* releaseSignIn(ctx: Context, key: SignInKey): Script<void> {
  for (const { caller, shareMs } of budgetsOf(ctx, key)) yield* returnShare(caller, shareMs);
}

/** An address can be long and is personal, so only keyed digests are stored. */
function budgetsOf(ctx: Context, { storeId, email, client, browser }: SignInKey) {
  const budget = (kind: string, parts: string, perHour: number) => {
    const caller: LookupCaller = { storeId, caller: `${kind}:${digestOf(ctx, parts)}` };
    return { caller, shareMs: Math.floor(lookupPeriodMs / perHour) };
  };
  if (browser !== null) return [budget('browser', `${email} ${browser}`, perClient)];
  return [
    budget('client', `${email} ${client}`, perClient),
    budget('account', email, perAccount),
    budget('source', client, perClientInAll),
  ];
}

function digestOf({ keys }: Context, text: string): string {
  return Buffer.from(keys.digest('sign-in', text)).toString('base64url').slice(0, 22);
}

const browserForm = /^([\w-]{22})\.([\w-]{43})$/;

/** A token for the cookie of a browser in which a person has signed in. */
export function knownBrowserToken(ctx: Context, account: SignInAccount): string {
  const id = Buffer.from(ctx.random.bytes(16)).toString('base64url');
  return `${id}.${Buffer.from(ctx.keys.digest('known-browser', browserText(account, id))).toString('base64url')}`;
}

/** The id of a browser in which a person has signed in to the account; null for any other token. */
export function readKnownBrowser({ keys }: Context, account: SignInAccount, token: string): string | null {
  const [, id, sent] = browserForm.exec(token) ?? [];
  if (id === undefined || sent === undefined) return null;
  const bytes = Buffer.from(sent, 'base64url');
  const isOwn = keys
    .digests('known-browser', browserText(account, id))
    .some((digest) => sameBytes(digest, bytes));
  return isOwn ? id : null;
}

function browserText({ storeId, email }: SignInAccount, id: string): string {
  return `${storeId} ${id} ${email}`;
}
