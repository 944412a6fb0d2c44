/** The wallets of a store, which an owner sets up. */

import { Fault } from '../../../core/domain/fault.ts';
import type { WalletKind } from '../domain/wallet.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findWallet, removeWallet, saveWallet, sealCredential, type Wallet } from '../storage/wallet.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

export type WalletChange = Pick<Wallet, 'kind' | 'name' | 'holder' | 'expiresAt'> & {
  /** The text that is sealed. */
  readonly credential: Secret;
};

function entryOf(name: string, details: { readonly removed?: true } = {}) {
  return {
    action: 'settings-changed',
    subjectId: null,
    details: { fields: 'wallet', name, ...details },
  } as const;
}

/** The owner of the demonstration has no password. @throws Fault `insufficient-scope`. */
function assertReal({ store }: ByStaff): void {
  if (store.demonstration) throw new Fault('insufficient-scope');
}

/** Sets a wallet up, or replaces what signs its passes. @throws Fault as `assertMay` does. */
export function* setUpWallet(
  ctx: Context,
  by: ByStaff,
  { credential, ...wallet }: WalletChange,
): Script<null> {
  assertReal(by);
  return yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const key = { storeId: by.store.id, ...wallet };
      const sealed = sealCredential(ctx, key, credential.reveal());
      const setAt = ctx.wallClock.now();
      yield* saveWallet({ ...key, sealed, setAt, failingSince: null, failure: null });
      return null;
    },
    entryOf: () => entryOf(wallet.name),
  });
}

/** Removes a wallet: the passes on phones stay, and are not updated. @throws Fault as `assertMay` does. */
export function* endWallet(ctx: Context, by: ByStaff, kind: WalletKind): Script<null> {
  yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const wallet = yield* findWallet(by.store.id, kind);
      yield* removeWallet(by.store.id, kind);
      return wallet;
    },
    entryOf: (wallet) => (wallet ? entryOf(wallet.name, { removed: true }) : null),
  });
  return null;
}
