/** Members of staff suspend cards and resume them. */

import type { Context } from '../../../core/storage/context.ts';
import type { StaffActionName } from '../../../core/staff/storage/action.ts';
import type { Script } from '../../../database/sql/sql.ts';
import {
  resumeCard,
  suspendCard,
  type StatedCard,
  type SuspensionCommand,
} from '../../../core/cards/service/suspension.ts';
import { loadCard } from '../../../core/cards/service/present-card.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

/**
 * Suspends a card. The audit log does not have the reason, which can be personal and cannot be erased there.
 * @throws Fault those of `asStaff` and `suspendCard`.
 */
export function* suspendCardBy(
  ctx: Context,
  by: ByStaff,
  { cardId, reason }: { readonly cardId: number; readonly reason: string | null },
): Script<void> {
  yield* changeBy(ctx, by, {
    cardId,
    action: 'card-suspended',
    run: (command) => suspendCard(ctx, { ...command, reason }),
  });
}

/** @throws Fault those of `asStaff` and `resumeCard`. */
export function* resumeCardBy(ctx: Context, by: ByStaff, cardId: number): Script<void> {
  yield* changeBy(ctx, by, { cardId, action: 'card-resumed', run: (command) => resumeCard(ctx, command) });
}

/** A card that is already in the state does not change, and is not listed. */
function* changeBy(
  ctx: Context,
  by: ByStaff,
  {
    cardId,
    action,
    run,
  }: {
    readonly cardId: number;
    readonly action: StaffActionName;
    readonly run: (command: SuspensionCommand) => Script<StatedCard>;
  },
): Script<void> {
  const { store } = by;
  yield* asStaff(ctx, by, {
    permission: 'changeCards',
    *change({ actor }) {
      const { card: before } = yield* loadCard(ctx, { storeId: store.id, cardId });
      const { card: after } = yield* run({ store, cardId, actor, versions: null });
      return after.version !== before.version;
    },
    entryOf: (hasChanged) => (hasChanged ? { action, subjectId: cardId, details: {} } : null),
  });
}
