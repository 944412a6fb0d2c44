/** Changes of the settings of online sales, each of which a form makes once. */

import { Fault } from '../../../../core/domain/fault.ts';
import type { Script } from '../../../../database/sql/sql.ts';
import { withoutAccess } from '../../../../pages/kit/without-access.ts';
import type { Page } from '../../../../pages/kit/page-context.ts';
import { seeOther, type ConsoleResponse } from '../../../../pages/kit/route.ts';

export const saleSettingsPath = '/settings/online-sales';

/** The notices after a change. */
export const saleDoneNames = ['saved', 'savedTest', 'removed', 'opened', 'closed', 'repeated'] as const;

/** Makes a change, and leads back to the page. A form without a key was not made by the server. */
export async function changedSales(
  page: Page,
  done: (typeof saleDoneNames)[number],
  change: () => Script<unknown>,
): Promise<ConsoleResponse> {
  const { key } = page;
  if (key === undefined) return seeOther(saleSettingsPath);
  try {
    const { isRepeated } = await page.once(key, function* run() {
      yield* change();
      return null;
    });
    return seeOther(`${saleSettingsPath}?done=${isRepeated ? 'repeated' : done}`);
  } catch (error) {
    const response = error instanceof Fault ? withoutAccess(page, error) : undefined;
    if (!response) throw error;
    return response;
  }
}
