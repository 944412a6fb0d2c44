/** Who calls: stores, tokens, and the demonstration store behind development mode. */

import type { Store } from '../domain/store.ts';
import {
  findDemonstrationStore,
  findStore,
  findStoreByDomain,
  hasRealStores,
  type StoreRecord,
} from '../storage/store.ts';
import type { Script } from '../storage/sql.ts';
import { findActiveToken, findToken as findTokenById, noteTokenUse, type Token } from '../storage/token.ts';
import { tokenHash, type PresentedToken } from './token.ts';

/** What a request brings along to say who it is. */
export type Presented = {
  readonly token: PresentedToken | null;
  /** The domain that a signed request names, lower case. */
  readonly shop: string | null;
};

export type Identity = {
  /** The token, if one was presented and it works, and its store. */
  readonly token: { readonly token: Token; readonly record: StoreRecord } | undefined;
  /** The store that a signed request names. */
  readonly shop: StoreRecord | undefined;
};

/** Looks up what a request brought along. */
export function* identify({ token, shop }: Presented): Script<Identity> {
  return {
    token: token ? yield* findToken(token) : undefined,
    shop: shop === null ? undefined : yield* findStoreByDomain(shop),
  };
}

function* findToken(presented: PresentedToken): Script<Identity['token']> {
  const token = yield* findActiveToken(presented.storeId, tokenHash(presented));
  if (!token) return undefined;
  const record = yield* findStore(token.storeId);
  return record && { token, record };
}

/** The demonstration store, for as long as the database holds no other: real stores close development mode. */
export function* findOpenDemonstrationStore(): Script<Store | undefined> {
  if (yield* hasRealStores()) return undefined;
  const record = yield* findDemonstrationStore();
  return record?.store;
}

/** Whether who was let in before would still be: by a token, or without one in development mode. */
export function* isStillAllowed({
  storeId,
  tokenId,
}: {
  readonly storeId: number;
  readonly tokenId: number | null;
}): Script<boolean> {
  if (tokenId === null) return (yield* findOpenDemonstrationStore())?.id === storeId;
  const token = yield* findTokenById(storeId, tokenId);
  return token !== undefined && token.revokedAt === null;
}

export type TokenUse = { readonly storeId: number; readonly id: number; readonly usedAt: number };

/** Notes when tokens were last used, many in one transaction. */
export function* noteTokenUses(uses: readonly TokenUse[]): Script<void> {
  for (const { storeId, id, usedAt } of uses) yield* noteTokenUse(storeId, id, usedAt);
}
