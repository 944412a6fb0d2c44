/** The root of the service leads a browser to setup, sign-in, the till or today, by state and role. */

import type { FastifyRequest } from 'fastify';
import { isPermitted } from '../../../../core/staff/domain/staff.ts';
import { hasOwner } from '../../../../core/staff/service/staff.ts';
import { isOwnHost } from '../../../../pages/kit/request.ts';
import { visitorOf, type VisitorServices } from '../../../../pages/kit/visitor.ts';

/** The path of the first page; undefined: the host is not that of the pages. */
export async function homePathOf(
  services: VisitorServices,
  request: FastifyRequest,
): Promise<string | undefined> {
  const { origin, storage } = services;
  if (!isOwnHost(request.headers, origin)) return undefined;
  const { signedIn } = await visitorOf(services, request);
  if (signedIn) return `${origin.basePath}${isPermitted(signedIn.member, 'readCards') ? '/today' : '/till'}`;
  return `${origin.basePath}${(await storage.read(hasOwner)) ? '/sign-in' : '/setup'}`;
}
