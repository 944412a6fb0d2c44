/** Authentication of callers: stores, tokens, and the demonstration store of development mode. */

import type { Context } from '../../storage/context.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Store } from '../domain/store.ts';
import {
  assertStoreOpen,
  findDemonstrationStore,
  findStoreByDomain,
  hasRealStores,
  openProxySecret,
} from '../storage/store.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { findActiveToken, isTokenActive, recordTokenUse, type FoundToken } from '../storage/token.ts';
import { tokenHash, type PresentedToken } from './secret-token.ts';

/** A store, and the secret of its app proxy; null: the store does not have an app proxy. */
export type SignedStore = { readonly store: Store; readonly proxySecret: Secret | null };

/** Finds a store by its domain, in lower case. @throws Fault `store-closed`. */
export function* findSignedStore(ctx: Context, domain: string): Script<SignedStore | undefined> {
  const record = yield* findStoreByDomain(domain);
  if (record) assertStoreOpen(record);
  return record && { store: record.store, proxySecret: openProxySecret(ctx, record) };
}

/** Finds an active token and its store. */
export function* findPresentedToken(token: PresentedToken): Script<FoundToken | undefined> {
  return yield* findActiveToken(token.storeId, tokenHash(token));
}

/** The demonstration store; undefined if the database contains a real store, which ends development mode. */
export function* findOpenDemonstrationStore(): Script<Store | undefined> {
  const [hasOthers, record] = yield* parallel(hasRealStores(), findDemonstrationStore());
  return hasOthers ? undefined : record?.store;
}

/** Whether an authenticated caller still has access: with an active token or, without a token, in development mode. */
export function* isStillAllowed(
  { wallClock }: Pick<Context, 'wallClock'>,
  { storeId, tokenId }: { readonly storeId: number; readonly tokenId: number | null },
): Script<boolean> {
  if (tokenId === null) return (yield* findOpenDemonstrationStore())?.id === storeId;
  return yield* isTokenActive(storeId, tokenId, wallClock.earliest());
}

export type TokenUse = { readonly storeId: number; readonly id: number; readonly usedAt: number };

/** Records when tokens were last used. The fixed order of the rows prevents deadlocks. */
export function* recordTokenUses(uses: readonly TokenUse[]): Script<void> {
  const inOrder = uses.toSorted((left, right) =>
    left.storeId === right.storeId ? left.id - right.id : left.storeId - right.storeId,
  );
  for (const { storeId, id, usedAt } of inOrder) yield* recordTokenUse(storeId, id, usedAt);
}
