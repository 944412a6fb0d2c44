/** An email to all owners of a store about a change that matters to them. */

import { listOwnerAddresses } from '../../service/emails/server.ts';
import type { Page } from '../kit/page-context.ts';

/** Owners of a shop are few. */
const ownersNotifiedMax = 20;

/** Returns whether a mail server has accepted the email to each owner. */
export async function notifyOwners(
  page: Page,
  { subject, paragraphs }: { readonly subject: string; readonly paragraphs: readonly string[] },
): Promise<boolean> {
  const { store, services, language } = page;
  const owners = await page.read(() => listOwnerAddresses(store));
  const notice = { store, subject, paragraphs, code: null, locale: language };
  const sent = await Promise.all(
    owners.slice(0, ownersNotifiedMax).map(async (to) => await services.sendNotice({ ...notice, to })),
  );
  return sent.every(Boolean);
}
