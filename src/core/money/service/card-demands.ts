/** The states of a card that a movement allows. */

import type { MoveDemands } from '../../cards/storage/card.ts';
import type { Context } from '../../storage/context.ts';
import type { Store } from '../../stores/domain/store.ts';
import { today } from '../../stores/service/day.ts';

/** The state of the card that a movement requires. */
export type StateDemands = Omit<MoveDemands, 'version'>;

/** Allows every state of the card. */
export const anyState: StateDemands = { today: null, disabledAllowed: true, suspendedAllowed: true };

/** Requires a usable card. */
export function requireUsableState(ctx: Context, store: Store): StateDemands {
  return { today: today(ctx, store), disabledAllowed: false, suspendedAllowed: false };
}
