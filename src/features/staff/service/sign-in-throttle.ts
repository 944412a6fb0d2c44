/**
 * The limit on attempts to sign in. A wrong password uses a share of budgets that refill continuously: one of the client
 * for this account, one of all clients for this account, and one of the client for all accounts. A browser in which the
 * person has signed in before has a budget of its own instead, so that other clients cannot lock the person out.
 */

import type { Context } from '../../../core/storage/context.ts';
import { sameBytes } from '../../../platform/keys.ts';
import {
  findRefilledAt,
  insertFailedLookup,
  returnShare,
  type LookupCaller,
} from '../../../core/stores/storage/lookup-throttle.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { lookupPeriodMs } from '../../../core/cards/service/lookup-throttle.ts';

/** Wrong passwords per hour of one client or one known browser for one account. */
const perClient = 10;
/** Wrong passwords per hour for one account in browsers that are not known. */
const perAccount = 100;
/** Wrong passwords per hour of one client for all accounts. */
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
  /** The id of a browser or session in which the person has signed in before; null: there is none. */
  readonly browser: string | null;
};

export type SignInAttempt =
  { readonly isAllowed: true } | { readonly isAllowed: false; readonly waitMs: number };

/**
 * Uses a share of each budget before the password is compared, so that concurrent attempts cannot exceed them. An attempt
 * that is not allowed uses none.
 */
export function* reserveSignIn(ctx: Context, key: SignInKey): Script<SignInAttempt> {
  const now = ctx.wallClock.now();
  const budgets = budgetsOf(ctx, key);
  for (const [place, { caller, shareMs }] of budgets.entries()) {
    const periods = { periodMs: lookupPeriodMs, aheadMaxMs: 2 * lookupPeriodMs };
    if ((yield* insertFailedLookup(caller, { now, shareMs, ...periods })) !== undefined) continue;
    const refilledAt = (yield* findRefilledAt(caller)) ?? now;
    yield* returnShares(budgets.slice(0, place));
    return { isAllowed: false, waitMs: Math.max(1, refilledAt - now - (lookupPeriodMs - shareMs)) };
  }
  return { isAllowed: true };
}

/** Returns the shares of an attempt whose password was right, or was not compared. */
export function* releaseSignIn(ctx: Context, key: SignInKey): Script<void> {
  yield* returnShares(budgetsOf(ctx, key));
}

function* returnShares(budgets: readonly Budget[]): Script<void> {
  for (const { caller, shareMs } of budgets) yield* returnShare(caller, shareMs);
}

type Budget = { readonly caller: LookupCaller; readonly shareMs: number };

/** An address can be long and is personal, so only keyed digests are stored. */
function budgetsOf(ctx: Context, { storeId, email, client, browser }: SignInKey): readonly Budget[] {
  const budget = (kind: string, parts: string, perHour: number): Budget => {
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

/** The people that a browser can be known to, because several can share it. */
const peoplePerBrowserMax = 5;

/**
 * A token for the cookie of a browser in which a person has signed in.
 * @param before the token that the browser had; the browser is still known to the last other people in it.
 */
export function knownBrowserToken(ctx: Context, account: SignInAccount, before: string): string {
  const id = Buffer.from(ctx.random.bytes(16)).toString('base64url');
  const digest = ctx.keys.digest('known-browser', browserText(account, id));
  const others = partsOf(before).filter((part) => idIn(ctx, account, part) === null);
  const parts = [`${id}.${Buffer.from(digest).toString('base64url')}`, ...others];
  return parts.slice(0, peoplePerBrowserMax).join('~');
}

/** The id of a browser in which a person has signed in to the account; null for any other token. */
export function readKnownBrowser(ctx: Context, account: SignInAccount, token: string): string | null {
  for (const part of partsOf(token)) {
    const id = idIn(ctx, account, part);
    if (id !== null) return id;
  }
  return null;
}

function partsOf(token: string): readonly string[] {
  return token.split('~', peoplePerBrowserMax).filter((part) => browserForm.test(part));
}

/** The id in a part of a token; null if it is the part of another account, or was not made here. */
function idIn({ keys }: Context, account: SignInAccount, part: string): string | null {
  const [, id, sent] = browserForm.exec(part) ?? [];
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
