/** Opens the demonstration store for a person on this machine, before there is a real store. */

import type { Context } from '../../../core/storage/context.ts';
import { parseEmail } from '../../../core/domain/email-address.ts';
import type { StaffMember } from '../../../core/staff/domain/staff.ts';
import { hasCards } from '../../../core/cards/storage/card.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { findAccountByEmail, insertStaffMember } from '../../../core/staff/storage/staff.ts';
import { closeOwnDays } from '../../books/service/closing.ts';
import { findOpenDemonstrationStore } from '../../../core/stores/service/caller.ts';
import { loadDemo } from './sample-data.ts';
import { createSession, type OpenedSession } from '../../../core/staff/service/session.ts';

/** Fewer than `largesse demo load` issues, because the service waits for them. */
const sampleCards = 200;
/** Rows of a step in which the days of the cards are summed. */
const closingRowsMax = 1_000;

const ownerName = 'Demonstration';
const ownerEmail = 'owner@demo.localhost';

/** Whether the demonstration can be opened, and whether it has cards. */
export function* findDemonstration(): Script<{ readonly isEmpty: boolean } | undefined> {
  const store = yield* findOpenDemonstrationStore();
  return store && { isEmpty: !(yield* hasCards(store.id)) };
}

/**
 * Opens a session of the owner of the demonstration store, who has no password. It is not found after there is a real store.
 * @param withCards issues sample cards if there are none, and sums their days, so that the first page has its chart.
 * @param trustedUntil the instant (ms) up to which the clock is trusted.
 * @returns undefined if there is a real store.
 */
export function* openDemonstration(
  ctx: Context,
  {
    userAgent,
    withCards,
    trustedUntil,
  }: { readonly userAgent: string; readonly withCards: boolean; readonly trustedUntil: number },
): Script<OpenedSession | undefined> {
  const store = yield* findOpenDemonstrationStore();
  if (!store) return undefined;
  if (withCards && !(yield* hasCards(store.id))) {
    yield* loadDemo(ctx, { cards: sampleCards });
    yield* closeOwnDays(ctx, store, { rowsMax: closingRowsMax, trustedUntil });
  }
  const email = parseEmail(ownerEmail);
  if (!email.ok) throw new Error('the address of the demonstration is invalid');
  const now = ctx.clock.now();
  const owner: StaffMember = {
    storeId: store.id,
    id: ctx.random.id(),
    name: ownerName,
    email: ownerEmail,
    role: 'owner',
    saleLimit: null,
    refundLimit: null,
    locationIds: null,
    createdAt: now,
    joinedAt: now,
    disabledAt: null,
  };
  const isNew = yield* insertStaffMember(owner, email.value);
  const member = isNew ? owner : (yield* findAccountByEmail(store, email.value))?.member;
  if (!member) return undefined;
  return yield* createSession(ctx, member, { method: 'demonstration', tillId: null, userAgent });
}
