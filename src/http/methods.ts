/**
 * Methods: every path that has a route gets one for all other methods, too, which answers 405, or 204 to OPTIONS.
 *
 * So the router itself decides which route a path belongs to, for every method alike: a path that is literally a
 * static route, such as `/gift_card/lookup`, is never also the path of a record.
 */

import { METHODS } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** CONNECT names no path, so that it never reaches the router. */
const routable = METHODS.filter((method) => method !== 'CONNECT');

/** The methods of each route, by its path in the router's notation. */
export type RouteMethods = ReadonlyMap<string, ReadonlySet<string>>;

/** Collects the methods of the routes that are added from now on. */
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
 * Adds the routes for all methods that do not work.
 * @param refuse answers a request with such a method, OPTIONS excepted, or one whose path names nothing.
 */
export function addOtherMethods(
  app: FastifyInstance,
  routes: RouteMethods,
  refuse: (request: FastifyRequest, reply: FastifyReply, code: 'method-not-allowed' | 'not-found') => void,
): void {
  for (const method of routable) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  // A copy, because the routes that are added here are collected, too.
  for (const [url, methods] of [...routes].map(([path, given]) => [path, new Set(given)] as const)) {
    if (methods.has('GET')) methods.add('HEAD');
    const allow = [...methods, 'OPTIONS'].toSorted().join(', ');
    const answer = (request: FastifyRequest, reply: FastifyReply): void => {
      request.isUnrouted = true;
      // The router lets a parameter be empty, as in `/gift_card/`: that is no path of a record.
      if (Object.values(request.params as object).includes('')) return refuse(request, reply, 'not-found');
      reply.header('allow', allow);
      if (request.method === 'OPTIONS') reply.code(204).header('cache-control', 'no-store').send();
      else refuse(request, reply, 'method-not-allowed');
    };
    app.route({
      method: routable.filter((method) => !methods.has(method)),
      url,
      // Here the body has not been read.
      onRequest: (request, reply, _done) => answer(request, reply),
      handler: answer,
    });
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the path has a route, but not with this method. */
    isUnrouted: boolean;
  }
}
