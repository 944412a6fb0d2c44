/** The till that a browser is enrolled as. */

import type { Till } from '../../../core/staff/storage/till.ts';
import { cookieNameOf } from '../../../pages/kit/cookie.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { findPresentedTill, tillTokens } from '../service/till.ts';

/** Null: none of the person's store. */
export async function ownTill(page: Page): Promise<Till | null> {
  const token = tillTokens.parse(page.request.cookies.get(cookieNameOf('till', page.services.origin)) ?? '');
  if (token?.storeId !== page.store.id) return null;
  return (await page.read(() => findPresentedTill(token)))?.till ?? null;
}
