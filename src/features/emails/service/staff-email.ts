/** Emails about cards that staff send again or cancel. */

import type { EmailDelivery } from '../../../core/emails/domain/email.ts';
import { actorOf } from '../../../core/staff/domain/staff.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { cancelEmail, sendToCorrected, type ShownEmail } from './list.ts';
import { recordAction } from '../../../core/staff/service/staff.ts';
import { actingOf, asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';
import { assertMay } from '../../../core/staff/service/permission.ts';

type Correction = Omit<Parameters<typeof sendToCorrected>[1], 'store' | 'actor' | 'emailId'>;

/** Sends the code of a card to a corrected address. @throws Fault as `sendToCorrected` and `assertMay` do. */
export function* correctAddress(
  ctx: Context,
  by: ByStaff,
  { email, card }: ShownEmail,
  correction: Correction,
): Script<EmailDelivery> {
  const { store, member } = by;
  yield* assertMay(store, member, 'changeEmails');
  const { delivery, isRecipientCorrected } = yield* sendToCorrected(ctx, {
    store,
    actor: actorOf(member),
    emailId: email.id,
    ...correction,
  });
  const subject = { storeId: store.id, subjectId: card.id };
  yield* recordAction(ctx, actingOf(by), { ...subject, action: 'code-sent', details: { how: 'email' } });
  // Without the addresses, because an erasure does not reach the list of what staff do.
  if (isRecipientCorrected)
    yield* recordAction(ctx, actingOf(by), { ...subject, action: 'recipient-corrected', details: {} });
  return delivery;
}

/** Cancels a scheduled email. @throws Fault as `cancelEmail` and `assertMay` do. */
export function* cancelByStaff(
  ctx: Context,
  by: ByStaff,
  { email, card }: ShownEmail,
): Script<EmailDelivery> {
  return yield* asStaff(ctx, by, {
    permission: 'changeEmails',
    change: () => cancelEmail(ctx, by.store.id, email.id),
    entryOf: () => ({ action: 'email-cancelled', subjectId: card.id, details: {} }),
  });
}
