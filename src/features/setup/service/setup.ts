/**
 * The first run: a link with which the first owner sets up the service. The link is an HMAC under the key file of its
 * expiry and its database, so nothing is stored, and every process accepts it. All links end with the first owner.
 */

import type { Context } from '../../../core/storage/context.ts';
import type { EmailAddress } from '../../../core/domain/email-address.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { Secret } from '../../../platform/secret.ts';
import type { StaffMember } from '../../../core/staff/domain/staff.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { sameBytes } from '../../../platform/keys.ts';
import { beat } from '../../../database/heartbeat.ts';
import { listKeyChecks } from '../../proofs/storage/key-check.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { hasOwner } from '../../../core/staff/storage/staff.ts';
import { findStoreByDomain, hasRealStores, listStores } from '../../../core/stores/storage/store.ts';
import { changeEmailSettings } from '../../../core/emails/service/email.ts';
import { inviteStaff, linkTokens, useLink } from '../../../core/staff/service/staff.ts';
import { createStore, type NewStore } from '../../../core/stores/service/store.ts';

const linkPeriodMs = 24 * 60 * 60 * 1_000;

export type SetupLink = {
  readonly token: Secret;
  /** Instant in ms. */
  readonly expiresAt: number;
};

/** Creates a link; undefined if there is an owner. */
export function* createSetupLink(ctx: Context): Script<SetupLink | undefined> {
  if (yield* hasOwner()) return undefined;
  const expiresAt = ctx.wallClock.latest() + linkPeriodMs;
  const digest = Buffer.from(ctx.keys.digest('setup-link', yield* linkText(expiresAt)));
  return { token: new Secret(`lgf_${expiresAt.toString(36)}_${digest.toString('base64url')}`), expiresAt };
}

/** A link of one database cannot be used at another one with the same key file. */
function* linkText(expiresAt: number): Script<string> {
  const [oldest] = yield* listKeyChecks();
  return `${expiresAt} ${oldest?.createdAt ?? 0}`;
}

const linkForm = /^lgf_([0-9a-z]{8,9})_([\w-]{43})$/;

/** Whether a link can be used: it has not expired, and there is no owner. */
export function* isOpenSetupLink(ctx: Context, token: string): Script<boolean> {
  const [, expiry, sent] = linkForm.exec(token) ?? [];
  if (expiry === undefined || sent === undefined) return false;
  const expiresAt = Number.parseInt(expiry, 36);
  if (expiresAt <= ctx.wallClock.latest()) return false;
  const bytes = Buffer.from(sent, 'base64url');
  const text = yield* linkText(expiresAt);
  const isOwn = ctx.keys.digests('setup-link', text).some((digest) => sameBytes(digest, bytes));
  return isOwn && !(yield* hasOwner());
}

/** The state of the first run that decides what its pages show. */
export type SetupProgress = {
  readonly hasOwner: boolean;
  /** The real stores, if there is no owner. */
  readonly stores: readonly Store[];
};

export function* findSetupProgress(): Script<SetupProgress> {
  if (yield* hasOwner()) return { hasOwner: true, stores: [] };
  const records = yield* listStores();
  const stores = records.map(({ store }) => store).filter(({ demonstration }) => !demonstration);
  return { hasOwner: false, stores };
}

/** The shop of the first owner: a new store with the language of its emails, or the domain of a store without an owner. */
export type SetupShop =
  { readonly settings: NewStore; readonly locale: string } | { readonly domain: string };

export type Setup = {
  readonly token: string;
  readonly shop: SetupShop;
  readonly name: string;
  readonly email: EmailAddress;
  /** Argon2id in PHC format; null: the owner joins with a passkey. */
  readonly password: string | null;
};

export type SetupResult =
  /** The owner can sign in. */
  | { readonly result: 'joined'; readonly owner: StaffMember }
  /** The owner joins with the token of a link. Until then, setup links can be used. */
  | { readonly result: 'invited'; readonly link: Secret }
  | { readonly result: 'link-ended' }
  /** A store was created since the form was shown. */
  | { readonly result: 'store-exists' };

/**
 * Creates the first owner and, unless one exists, the store. One of several at the same time creates them.
 * @throws Fault `invalid-parameter` with the errors of `domain` or `email`; `not-found` if the store does not exist.
 */
export function* setUp(ctx: Context, { token, shop, name, email, password }: Setup): Script<SetupResult> {
  // Locks a row that always exists, so that only one of several can create the store and the owner.
  yield* beat(null);
  if (!(yield* isOpenSetupLink(ctx, token))) return { result: 'link-ended' };
  if ('settings' in shop && (yield* hasRealStores())) return { result: 'store-exists' };
  const store = yield* storeOf(ctx, shop);
  const limits = { saleLimit: null, refundLimit: null, locationIds: null };
  const invited = yield* inviteStaff(ctx, { store, by: null, name, email, role: 'owner', ...limits });
  if (password === null) return { result: 'invited', link: invited.token };
  const link = linkTokens.parse(invited.token.reveal());
  if (!link) throw new Error('a new link does not have the form of one');
  const { member: owner } = yield* useLink(ctx, { token: link, password });
  return { result: 'joined', owner };
}

function* storeOf(ctx: Context, shop: SetupShop): Script<Store> {
  if ('domain' in shop) {
    const record = yield* findStoreByDomain(shop.domain);
    if (!record || record.store.demonstration) throw new Fault('not-found');
    return record.store;
  }
  const store = yield* createStore(ctx, shop.settings);
  yield* changeEmailSettings(ctx, store.id, { locale: shop.locale });
  return store;
}
