/** The person who sends a request to a page. */

import type { FastifyRequest } from 'fastify';
import { isLocalRequest } from '../../http/auth.ts';
import { findSignedIn, sessionTokens } from '../../core/staff/service/session.ts';
import { cookieNameOf } from './cookie.ts';
import { cookiesOf, type ConsoleRequest } from './request.ts';
import type { ConsoleServices } from './services.ts';

type Visitor = Pick<ConsoleRequest, 'cookies' | 'isLocal' | 'signedIn'>;

/** The services that find a visitor. */
export type VisitorServices = Pick<ConsoleServices, 'ctx' | 'storage' | 'origin' | 'developmentMode'>;

export async function visitorOf(
  { ctx, storage, origin, developmentMode }: VisitorServices,
  raw: FastifyRequest,
): Promise<Visitor> {
  const cookies = cookiesOf(raw.headers);
  const isLocal = isLocalRequest(raw);
  const token = sessionTokens.parse(cookies.get(cookieNameOf('session', origin)) ?? '');
  const found = token && (await storage.read(() => findSignedIn(ctx, token)));
  // The demonstration is open only to programs on this machine.
  const isAdmitted = found && (!found.store.demonstration || (developmentMode && isLocal));
  return { cookies, isLocal, signedIn: isAdmitted ? found : null };
}
