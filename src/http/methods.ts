/**
 * Methods without an operation: every path with a route gets a route for all other methods, which returns 405, or 204
 * to OPTIONS.
 *
 * The router selects the route of a path in the same way for every method. The path of a static route, such as
 * `/gift_card/lookup`, is never the path of a record.
 */

import { METHODS } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** The target of CONNECT is not a path, so it never reaches the router. */
const routable = METHODS.filter((method) => method !== 'CONNECT');

/** The methods of each route, by its path in the router's notation. */
export type RouteMethods = ReadonlyMap<string, ReadonlySet<string>>;

/** Collects the methods of routes that are added after this call. */
export function collectMethods(app: FastifyInstance): RouteMethods {
  const collected = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = collected.get(url) ?? new Set<string>();
    collected.set(url, methods);
    for (const each of [method].flat()) methods.add(each);
  });
  return collected;
}

/**
 * Adds the routes for all other methods.
 * @param reject responds to such a request, except OPTIONS, or to one whose path has an empty parameter.
 */
export function addOtherMethods(
  app: FastifyInstance,
  routes: RouteMethods,
  reject: (request: FastifyRequest, reply: FastifyReply, code: 'method-not-allowed' | 'not-found') => void,
): void {
  for (const method of routable) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  // A copy, because `routes` collects the routes that are added here.
  for (const [url, methods] of [...routes].map(([path, collected]) => [path, new Set(collected)] as const)) {
    if (methods.has('GET')) methods.add('HEAD');
    const allow = [...methods, 'OPTIONS'].toSorted().join(', ');
    const respond = (request: FastifyRequest, reply: FastifyReply): void => {
      request.isUnrouted = true;
      // The router accepts an empty parameter, as in `/gift_card/`, which is not the path of a record.
      if (Object.values(request.params as object).includes('')) return reject(request, reply, 'not-found');
      reply.header('allow', allow);
      if (request.method === 'OPTIONS') reply.code(204).header('cache-control', 'no-store').send();
      else reject(request, reply, 'method-not-allowed');
    };
    app.route({
      method: routable.filter((method) => !methods.has(method)),
      url,
      // Before the body is read.
      onRequest: (request, reply, _done) => respond(request, reply),
      handler: respond,
    });
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the path has a route, but not for this method. */
    isUnrouted: boolean;
  }
}
