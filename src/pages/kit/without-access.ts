/** The page of a person who may no longer make a change. */

import type { Fault } from '../../core/domain/fault.ts';
import { forbiddenPage } from './error-page.ts';
import type { Page } from './page-context.ts';
import { seeOther, type ConsoleResponse } from './route.ts';

/** The page if the person was disabled, or got another role, after the session was read; undefined otherwise. */
export function withoutAccess(page: Page, { code }: Fault): ConsoleResponse | undefined {
  if (code === 'unauthenticated') return seeOther('/sign-in');
  if (code !== 'insufficient-scope') return undefined;
  return {
    status: 403,
    body: forbiddenPage(page.services, page.request, { role: page.member.role, place: page.store.name }),
  };
}
