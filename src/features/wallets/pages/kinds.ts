/** The wallets that a store has set up. */

import type { WalletKind } from '../domain/wallet.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';

export async function walletKindsOf(
  { wallets }: Pick<ConsoleServices, 'wallets'>,
  storeId: number,
): Promise<readonly WalletKind[]> {
  return ((await wallets?.of(storeId)) ?? []).map(({ kind }) => kind);
}
