/**
 * Methods without an operation: the path of a route returns 405 to all other methods, or 204 to OPTIONS.
 *
 * The router finds no route for most of them, and then the path is searched in a second router, which has every path
 * once. It is made for the first such request, because a route for every path and every method takes most of the start.
 *
 * The router must select the route of a path in the same way for every method: the path of a static route, such as
 * `/gift_card/lookup`, is never the path of a record. Routes that can have a path in common therefore have routes for
 * all methods of each other.
 */

import assert from 'node:assert/strict';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import findMyWay from 'find-my-way';

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

type Reject = (
  request: FastifyRequest,
  reply: FastifyReply,
  code: 'method-not-allowed' | 'not-found',
) => void;

type Path = {
  /** In the router's notation. */
  readonly url: string;
  readonly segments: readonly string[];
  readonly methods: ReadonlySet<string>;
};

/**
 * Adds routes for the methods of other routes that can have the same path.
 * @param reject responds to a request of a path with another method, except OPTIONS, or of a path without a route.
 * @returns the response to requests for which the router finds no route.
 */
export function addOtherMethods(
  app: FastifyInstance,
  routes: RouteMethods,
  { maxParamLength, reject }: { readonly maxParamLength: number; readonly reject: Reject },
): (request: FastifyRequest, reply: FastifyReply) => void {
  // The comparison of segments below knows no wildcards.
  assert(![...routes.keys()].some((url) => url.includes('*')));
  // A copy, because `routes` collects the routes that are added here.
  const paths = [...routes].map(([url, methods]): Path => ({
    url,
    segments: url.split('/'),
    methods: new Set(methods),
  }));
  for (const group of groupsOf(paths)) {
    for (const { url, methods } of group) {
      const others = new Set(group.flatMap((other) => [...other.methods])).difference(methods);
      if (others.size === 0) continue;
      const allow = allowOf(methods);
      const respond = (request: FastifyRequest, reply: FastifyReply): void =>
        respondOther(request, reply, { allow, params: request.params as object, reject });
      app.route({
        method: [...others],
        url,
        config: { isUnrouted: true },
        // Before the body is read.
        onRequest: (request, reply, _done) => respond(request, reply),
        handler: respond,
      });
    }
  }
  let search: ReturnType<typeof searchOf> | undefined;
  return (request, reply) => {
    search ??= searchOf(paths, maxParamLength);
    const found = search(request.url);
    if (found) respondOther(request, reply, { ...found, reject });
    else reject(request, reply, 'not-found');
  };
}

function respondOther(
  request: FastifyRequest,
  reply: FastifyReply,
  { allow, params, reject }: { readonly allow: string; readonly params: object; readonly reject: Reject },
): void {
  // The router accepts an empty parameter, as in `/gift_card/`, which is not the path of a record.
  if (Object.values(params).includes('')) return reject(request, reply, 'not-found');
  reply.header('allow', allow);
  if (request.method === 'OPTIONS') reply.code(204).header('cache-control', 'no-store').send();
  else reject(request, reply, 'method-not-allowed');
}

function allowOf(methods: ReadonlySet<string>): string {
  return [...methods, 'OPTIONS'].toSorted().join(', ');
}

/** Groups routes so that those of different groups have no path in common. */
function groupsOf(paths: readonly Path[]): readonly (readonly Path[])[] {
  let groups: readonly (readonly Path[])[] = [];
  for (const path of paths) {
    const isOfPath = (group: readonly Path[]): boolean => group.some((other) => sharesPaths(path, other));
    const { joined = [], apart = [] } = Object.groupBy(groups, (group) =>
      isOfPath(group) ? 'joined' : 'apart',
    );
    groups = [...apart, [path, ...joined.flat()]];
  }
  return groups;
}

/** Whether a path can be that of both routes. */
function sharesPaths({ segments }: Path, { segments: others }: Path): boolean {
  return (
    segments.length === others.length &&
    segments.every((segment, place) => {
      const other = others[place];
      return segment === other || segment.includes(':') || other?.includes(':') === true;
    })
  );
}

/** A search for the route of a path, as the server's router searches for one of a method. */
function searchOf(
  paths: readonly Path[],
  maxParamLength: number,
): (url: string) => { readonly allow: string; readonly params: object } | null {
  const router = findMyWay({ maxParamLength });
  for (const { url, methods } of paths) router.on('GET', url, unused, allowOf(methods));
  return (url) => {
    const found = router.find('GET', url);
    if (!found) return null;
    const allow: unknown = found.store;
    assert(typeof allow === 'string');
    return { allow, params: found.params };
  };
}

/** The search calls no handler. */
function unused(): void {
  throw new Error('the search does not handle requests');
}

/** The template of a request's path for logs and metrics; `unknown` if it has no route for the method. */
export function routeTemplateOf({ routeOptions: { url, config } }: FastifyRequest): string {
  return (config.isUnrouted === true ? undefined : url) ?? 'unknown';
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the path has a route, but not for this method. */
    isUnrouted?: boolean;
  }
}
