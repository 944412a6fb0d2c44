/** When tokens were last used: collected in memory and written periodically, not with every request. */

import type { TokenUse } from '../service/caller.ts';

export type TokenUses = {
  note(use: TokenUse): void;
  /** Returns the uses since the last call. */
  take(): readonly TokenUse[];
};

export function tokenUses(): TokenUses {
  let uses = new Map<number, TokenUse>();
  return {
    note: (use) => void uses.set(use.id, use),
    take() {
      const taken = [...uses.values()];
      uses = new Map();
      return taken;
    },
  };
}
