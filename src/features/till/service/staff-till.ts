/** Devices at the counter: enrolled and revoked by managers, who unlock PINs as well. */

import { Fault } from '../../../core/domain/fault.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { endSessionsOnTill, type StaffSession } from '../../../core/staff/storage/session.ts';
import { findAccount, resetPinFailures } from '../../../core/staff/storage/staff.ts';
import {
  countEnrolledTills,
  findTill,
  insertTill,
  lockTillsOf,
  markTillRevoked,
  setTillPaper,
  type Till,
} from '../../../core/staff/storage/till.ts';
import { usualPaperMm, type PaperMm } from '../../../core/staff/domain/till-paper.ts';
import { signOut } from '../../../core/staff/service/session.ts';
import { moveTillTo, tillsMax, tillTokens } from './till.ts';
import { tokenHash } from '../../../core/stores/service/secret-token.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

type NewTill = {
  readonly name: string;
  /** The till that the browser was before, which is revoked; null: none. */
  readonly replaced: number | null;
  /** The session of the browser, which ends: a device at the counter must not keep that of a manager. Null: none. */
  readonly session: StaffSession | null;
};

/**
 * Enrolls the device of a browser.
 * @throws Fault `invalid-parameter` on `name` if the store has the maximum of tills; those of `asStaff`.
 */
export function* enrollTill(
  ctx: Context,
  by: ByStaff,
  { name, replaced, session }: NewTill,
): Script<{ readonly till: Till; readonly token: Secret }> {
  const storeId = by.store.id;
  return yield* asStaff(ctx, by, {
    permission: 'enrollTills',
    *change({ member }) {
      yield* lockTillsOf(storeId);
      const before = replaced === null ? undefined : yield* findTill({ storeId, id: replaced });
      const { locationId = null, paperMm = usualPaperMm } = before ?? {};
      if (replaced !== null) yield* revokeTill(ctx, by, replaced);
      if ((yield* countEnrolledTills(storeId)) >= tillsMax)
        throw new Fault('invalid-parameter', {
          errors: { name: [`cannot be added: a store has at most ${tillsMax} tills`] },
        });
      const token = tillTokens.create(ctx, storeId);
      const [id, createdAt] = [ctx.random.id(), ctx.wallClock.now()];
      const created = { createdBy: member.id, createdAt, revokedAt: null };
      const till: Till = { storeId, id, name, locationId, paperMm, ...created };
      yield* insertTill(till, tokenHash({ secret: token }));
      if (session) yield* signOut(ctx, session);
      return { till, token };
    },
    entryOf: ({ till }) => ({ action: 'till-enrolled', subjectId: till.id, details: { name } }),
  });
}

/** Revokes a till and ends the sessions on it. @returns whether it was enrolled. @throws Fault those of `asStaff`. */
export function* revokeTill(ctx: Context, by: ByStaff, id: number): Script<boolean> {
  const storeId = by.store.id;
  const revoked = yield* asStaff(ctx, by, {
    permission: 'enrollTills',
    *change() {
      const now = ctx.wallClock.now();
      const till = yield* markTillRevoked({ storeId, id }, now);
      if (till) yield* endSessionsOnTill(storeId, id, now);
      return till;
    },
    entryOf: (till) =>
      till ? { action: 'till-revoked', subjectId: id, details: { name: till.name } } : null,
  });
  return revoked !== undefined;
}

/** Unlocks a PIN after too many wrong ones. @throws Fault `not-found` if there is no such PIN; those of `asStaff`. */
export function* unlockPinOf(ctx: Context, by: ByStaff, staffId: number): Script<void> {
  yield* asStaff(ctx, by, {
    permission: 'manageStaff',
    *change() {
      const account = yield* findAccount(by.store, staffId);
      if (!account?.pin) throw new Fault('not-found');
      if (account.pinFailures > 0) yield* resetPinFailures(account.member);
      return account.pinFailures > 0;
    },
    entryOf: (isUnlocked) =>
      isUnlocked ? { action: 'pin-unlocked', subjectId: staffId, details: {} } : null,
  });
}

/**
 * Sets where a till is; null: at no location. The person on it is signed out, who may not work at the new location.
 * @throws Fault `not-found`; `invalid-parameter` if the location is closed or not the store's; those of `asStaff`.
 */
export function* moveTillAs(ctx: Context, by: ByStaff, id: number, locationId: number | null): Script<Till> {
  return yield* asStaff(ctx, by, {
    permission: 'enrollTills',
    *change() {
      const till = yield* moveTillTo({ storeId: by.store.id, id }, locationId);
      yield* endSessionsOnTill(by.store.id, id, ctx.wallClock.now());
      return till;
    },
    entryOf: ({ name }) => ({ action: 'till-moved', subjectId: id, details: { name } }),
  });
}

/** Sets the width of the paper of a till's printer. @throws Fault `not-found`; those of `asStaff`. */
export function* setTillPaperAs(ctx: Context, by: ByStaff, id: number, paperMm: PaperMm): Script<Till> {
  return yield* asStaff(ctx, by, {
    permission: 'enrollTills',
    *change() {
      const till = yield* setTillPaper({ storeId: by.store.id, id }, paperMm);
      if (!till) throw new Fault('not-found');
      return till;
    },
    entryOf: ({ name }) => ({ action: 'till-paper-set', subjectId: id, details: { name } }),
  });
}
