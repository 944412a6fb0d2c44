/** Counts for the limits of a day: sales of one mailbox, one payment card, one network, and the store. */

import { dayOf, startOfDay } from '../../../core/domain/day.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';

const digestLength = 16;

/** The digest of a payment card, network or mailbox. Nothing else is stored of the first two. */
export function traceDigest(
  { keys }: Pick<Context, 'keys'>,
  what: 'card' | 'network' | 'mailbox',
  text: string,
): Uint8Array {
  return keys.digest('online-sale', `${what} ${text}`).subarray(0, digestLength);
}

/** The first instant (ms) of the present day of a store. */
export function startOfToday(ctx: Pick<Context, 'clock'>, { timeZone }: Pick<Store, 'timeZone'>): number {
  return startOfDay(dayOf(ctx.clock.now(), timeZone), timeZone);
}
