/** The emails of the development page that a request can read: they contain valid codes. */

import type { FastifyRequest } from 'fastify';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import type { ReadableEmails } from '../http/development-emails.ts';
import type { Storage } from '../../../database/storage.ts';
import { hasRealStores } from '../../../core/stores/service/store.ts';
import { isOwnHost } from '../../../pages/kit/request.ts';
import { visitorOf, type VisitorServices } from '../../../pages/kit/visitor.ts';

/**
 * Every request can read the emails of a sandbox and of the demonstration. From the first real store on, only its owners can read emails,
 * those of their store.
 * @param pages null: there are no pages on which an owner could sign in.
 */
export async function readableEmailsOf(
  {
    storage,
    pages,
    isSandbox,
  }: { readonly storage: Storage; readonly pages: VisitorServices | null; readonly isSandbox: boolean },
  request: FastifyRequest,
): Promise<ReadableEmails> {
  if (isSandbox || !(await storage.read(hasRealStores))) return { kind: 'every' };
  if (!pages || !isOwnHost(request.headers, pages.origin)) return { kind: 'none', signIn: null };
  const { signedIn } = await visitorOf(pages, request);
  if (!signedIn || signedIn.store.demonstration)
    return { kind: 'none', signIn: `${pages.origin.basePath}/sign-in` };
  const { member, session, store } = signedIn;
  // A PIN opens the till only.
  if (session.tillId !== null || !isPermitted(member, 'changeSettings'))
    return { kind: 'none', signIn: null };
  return { kind: 'store', domain: store.domain };
}
