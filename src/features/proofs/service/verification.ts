/** Records of verifications and backups, which the console shows. */

import type { Context } from '../../../core/storage/context.ts';
import { saveSetupStep } from '../../../core/stores/storage/setup-step.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { listOpenStores, listStores } from '../../../core/stores/storage/store.ts';
import { saveVerification } from '../storage/verification.ts';
import type { Mismatch } from './verify.ts';

/** Records the result of a verification for each store. A problem of no single store counts for all. */
export function* recordVerification({
  verifiedAt,
  rowsRead,
  mismatches,
}: {
  /** Instant in ms. */
  readonly verifiedAt: number;
  readonly rowsRead: number;
  readonly mismatches: readonly Pick<Mismatch, 'store'>[];
}): Script<void> {
  for (const { store } of yield* listStores()) {
    const own = mismatches.filter((each) => each.store === null || each.store === store.domain);
    yield* saveVerification({
      storeId: store.id,
      verifiedAt,
      rowsRead,
      mismatches: own.length,
      actor: 'command_line',
    });
  }
}

/** Records for each open store that a backup of the database was made and verified. */
export function* recordBackup(ctx: Context): Script<void> {
  for (const { store } of yield* listOpenStores())
    yield* saveSetupStep({ storeId: store.id, step: 'backup', doneAt: ctx.wallClock.now(), staffId: null });
}
