/** Operations whose response is a stream. */

import { Fault } from '../core/domain/fault.ts';
import type { RequestContext, Streamed } from '../http/request-context.ts';
import type { Fields, Values } from './field.ts';
import { idReader, type Ids } from './path.ts';
import { routeOf, commonDocumentation, queryReader } from './operation-route.ts';
import { failuresIfNotFound } from './operation.ts';
import type { Common, Operation } from './operation-route.ts';

/** An operation whose response is a stream. */
export function stream<const Id extends string, const P extends string, Q extends Fields>(
  definition: Common<Id, P> & {
    readonly query: Q;
    readonly takesLastEventId?: boolean;
    readonly response: { readonly description: string; readonly type: string; readonly example: string };
    readonly open: (requestContext: RequestContext, query: Values<Q>, ids: Ids<P>) => Promise<Streamed>;
  },
): Operation<Id> {
  const { query, open, response, takesLastEventId = false } = definition;
  const readIds = idReader(definition.path);
  const readQuery = queryReader(query, 'invalid-query');
  return {
    ...routeOf(definition, 'GET'),
    query: Object.keys(query),
    async handle(requestContext) {
      const { ctx, caller } = requestContext;
      const { ids, isGuess } = readIds(requestContext);
      if (isGuess) await requestContext.lookup.admit(failuresIfNotFound);
      if (!ids) throw new Fault('not-found');
      const queried = readQuery(requestContext, { store: caller.store, now: ctx.clock.now() });
      return open(requestContext, queried, ids);
    },
    documentation: {
      ...commonDocumentation(definition),
      query,
      takesLastEventId,
      response: { status: 200, description: response.description, headers: [], content: response },
    },
  };
}
