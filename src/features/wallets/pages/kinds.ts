/** The wallets that a store has set up. */

import { walletTool } from './tools.ts';
import type { WalletKind } from '../domain/wallet.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';

export async function walletKindsOf(
  { tools }: Pick<ConsoleServices, 'tools'>,
  storeId: number,
): Promise<readonly WalletKind[]> {
  return ((await tools.of(walletTool)?.of(storeId)) ?? []).map(({ kind }) => kind);
}
