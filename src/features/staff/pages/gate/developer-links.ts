/** Links for developers on pages without a session. */

import { hasRealStores } from '../../../../core/stores/service/store.ts';
import { pagePaths } from '../../../../http/page-paths.ts';
import type { ConsoleRequest } from '../../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../../pages/kit/services.ts';
import { textsOf } from '../../../../pages/kit/texts.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';

const setupTexts = textsOf('setup');

type DeveloperServices = Pick<ConsoleServices, 'frame' | 'hasKeptEmails' | 'storage'>;

/**
 * Links to the reference of the API and, on this machine in development, to the kept emails. Only an owner can read them
 * after there is a real store.
 */
export async function developerLinks(
  { frame: { basePath }, hasKeptEmails, storage }: DeveloperServices,
  { language, isLocal }: Pick<ConsoleRequest, 'language' | 'isLocal'>,
): Promise<Markup> {
  const text = setupTexts[language];
  const isReadable = hasKeptEmails && isLocal && !(await storage.read(hasRealStores));
  const emails = isReadable ? markup` <a href="${basePath}/dev/mails">${text.emails}</a>` : undefined;
  return markup`<a href="${basePath}${pagePaths.reference}">${text.reference}</a>${emails}`;
}
