/** The decision of an owner to the question whether the service may look for new versions. */

import type { MachineRule } from '../../../core/stores/domain/machine.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findVersionCheck, saveVersionDecision } from '../storage/version-check.ts';
import { assertOwnersSetMachine } from '../../../core/stores/service/machine.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

/**
 * Stores the decision. @returns whether it is another one than before.
 * @throws Fault `insufficient-scope` if owners may not set the machine; as `assertMay` does.
 */
export function* decideVersionCheck(
  ctx: Context,
  by: ByStaff,
  { rule, isWanted }: { readonly rule: MachineRule; readonly isWanted: boolean },
): Script<boolean> {
  return yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      yield* assertOwnersSetMachine(by.store, rule);
      const before = yield* findVersionCheck();
      if (before.isWanted === isWanted) return false;
      yield* saveVersionDecision(isWanted, ctx.clock.now());
      return true;
    },
    entryOf: (isChanged) =>
      isChanged
        ? {
            action: 'settings-changed',
            subjectId: null,
            details: { fields: 'version_check', [isWanted ? 'allowed' : 'declined']: true },
          }
        : null,
  });
}
