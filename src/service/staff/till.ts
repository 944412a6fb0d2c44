/** Tills: devices that are enrolled for sign-in with a PIN. The browser has a random token in a cookie. */

import type { Context } from '../../storage/context.ts';
import { Fault } from '../../domain/fault.ts';
import type { Secret } from '../../platform/secret.ts';
import type { Store } from '../../domain/stores/store.ts';
import { endSessionsOnTill } from '../../storage/staff/session.ts';
import type { Script } from '../../storage/sql/sql.ts';
import { assertStoreOpen, findStore } from '../../storage/stores/store.ts';
import {
  countEnrolledTills,
  findEnrolledTill,
  insertTill,
  lockTillsOf,
  markTillRevoked,
  type Till,
} from '../../storage/staff/till.ts';
import { tokenHash, tokenKind, type PresentedToken } from '../stores/secret-token.ts';
import { recordAction, type Acting } from './staff.ts';

/** 256 random bits. */
export const tillTokens = tokenKind('lgt', 43);

/** Enrolled tills of a store. */
export const tillsMax = 50;

/** A member of staff who acts. */
type Person = NonNullable<Acting>;

/**
 * Enrolls the device of a browser.
 * @param replaced the till that the browser was before; it is revoked. Null: none.
 * @throws Fault `invalid-parameter` on `name` if the store has the maximum of tills.
 */
export function* enrollTill(
  ctx: Context,
  {
    store,
    name,
    replaced,
    by,
  }: {
    readonly store: Pick<Store, 'id'>;
    readonly name: string;
    readonly replaced: number | null;
    readonly by: Person;
  },
): Script<{ readonly till: Till; readonly token: Secret }> {
  yield* lockTillsOf(store.id);
  if (replaced !== null) yield* revokeTill(ctx, { store, id: replaced, by });
  if ((yield* countEnrolledTills(store.id)) >= tillsMax)
    throw new Fault('invalid-parameter', {
      errors: { name: [`cannot be added: a store has at most ${tillsMax} tills`] },
    });
  const token = tillTokens.create(ctx, store.id);
  const till: Till = {
    storeId: store.id,
    id: ctx.random.id(),
    name,
    createdBy: by.staffId,
    createdAt: ctx.clock.now(),
    revokedAt: null,
  };
  yield* insertTill(till, tokenHash({ secret: token }));
  yield* recordAction(ctx, by, {
    storeId: store.id,
    action: 'till-enrolled',
    subjectId: till.id,
    details: { name },
  });
  return { till, token };
}

/** Revokes a till and ends the sessions on it. @returns whether it was enrolled. */
export function* revokeTill(
  ctx: Context,
  { store, id, by }: { readonly store: Pick<Store, 'id'>; readonly id: number; readonly by: Person },
): Script<boolean> {
  const now = ctx.clock.now();
  const revoked = yield* markTillRevoked({ storeId: store.id, id }, now);
  if (!revoked) return false;
  yield* endSessionsOnTill(store.id, id, now);
  const details = { name: revoked.name };
  yield* recordAction(ctx, by, { storeId: store.id, action: 'till-revoked', subjectId: id, details });
  return true;
}

/** The enrolled till of a token and its store; undefined if it was revoked. @throws Fault `store-closed`. */
export function* findPresentedTill(
  token: PresentedToken,
): Script<{ readonly till: Till; readonly store: Store } | undefined> {
  const till = yield* findEnrolledTill(token.storeId, tokenHash(token));
  const record = till && (yield* findStore(token.storeId));
  if (record) assertStoreOpen(record);
  return record && { till, store: record.store };
}
