/** The day of a store. */

import { dayOf } from '../../domain/day.ts';
import type { Context } from '../../storage/context.ts';
import type { Store } from '../domain/store.ts';

/** The present day in the store's time zone. */
export function today(ctx: Context, { timeZone }: Store): string {
  return dayOf(ctx.clock.earliest(), timeZone);
}
