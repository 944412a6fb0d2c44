/** Lists: pages of records, newest first, with links to the pages before and after. */

import Type, { type Static, type TArray, type TObject } from 'typebox';
import { Fault, type FaultCode } from '../core/domain/fault.ts';
import { accepted, rejected, type Parsed } from '../platform/parsed.ts';
import type { Scope } from '../core/stores/domain/store.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { ListPage, PageRequest } from '../core/money/service/movements.ts';
import type { Script } from '../database/sql/sql.ts';
import type { Tag } from './documentation.ts';
import { field, integerFromForm } from './field.ts';
import { read, type ReadRequest } from './operation.ts';
import type { Operation } from './operation-route.ts';

export const limitDefault = 50;
const limitMax = 250;

function readInteger(max: number): (value: unknown) => Parsed<number> {
  return (value) =>
    typeof value === 'number' && value <= max
      ? accepted(value)
      : rejected(`must be an integer from 1 to ${max}`);
}

export const limit = field(
  Type.Integer({
    minimum: 1,
    maximum: limitMax,
    default: limitDefault,
    description: 'The size of the page, 50 by default.',
  }),
  readInteger(limitMax),
  integerFromForm,
);

function cursorField(description: string) {
  return field(
    Type.Integer({ minimum: 1, description }),
    readInteger(Number.MAX_SAFE_INTEGER),
    integerFromForm,
  );
}

const query = {
  limit,
  before: cursorField('Only records older than the one with this id.'),
  after: cursorField('Only records newer than the one with this id.'),
};

/** The path and query of another page of this list. */
export function pageLink(
  { request }: RequestContext,
  parameters: string,
  relation: 'next' | 'previous',
): string {
  const [path = ''] = request.url.split('?', 1);
  return `<${path}?${parameters}>; rel="${relation}"`;
}

/** The links to the pages before and after a page. */
function pageLinks<R>(
  requestContext: RequestContext,
  { items, hasOlder, hasNewer }: ListPage<R>,
  { size, idOf }: { readonly size: number; readonly idOf: (record: R) => number },
): readonly string[] {
  const links: string[] = [];
  const [first, last] = [items.at(0), items.at(-1)];
  if (last !== undefined && hasOlder)
    links.push(pageLink(requestContext, `limit=${size}&before=${idOf(last)}`, 'next'));
  if (first !== undefined && hasNewer)
    links.push(pageLink(requestContext, `limit=${size}&after=${idOf(first)}`, 'previous'));
  return links;
}

/** A list whose pages link to their neighbors: `next` is older, `previous` newer. */
export function list<
  const Id extends string,
  const P extends string,
  S extends TObject,
  R extends Static<S>,
>(definition: {
  readonly id: Id;
  readonly path: P;
  readonly scopes: readonly Scope[];
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  /** The name of the list in the response. */
  readonly member: string;
  readonly record: S;
  readonly example: NoInfer<Static<S>>;
  readonly responseDescription: string;
  /** The id by which pages are requested. Public ids are converted before the script runs. */
  readonly cursor: { readonly isPublic: boolean; readonly of: (record: NoInfer<R>) => number };
  readonly errors: readonly FaultCode[];
  readonly sample?: { readonly query: string };
  readonly page: (request: ReadRequest<P, unknown, unknown>, page: PageRequest) => Script<ListPage<R>>;
}): Operation<Id> {
  const { member, record, example, cursor, page, responseDescription, ...common } = definition;
  return read({
    ...common,
    query,
    response: {
      description: responseDescription,
      members: { [member]: Type.Array(record) },
      example: { [member]: [example] },
      headers: ['Link'],
    },
    *run(request) {
      const { ctx, requestContext } = request;
      const { limit: size = limitDefault, before, after } = request.query;
      if (before !== undefined && after !== undefined)
        throw new Fault('invalid-query', { errors: { after: ['cannot be combined with before'] } });
      // A number that is not a public id has no record, and neither has 0.
      const toInternalId = (id: number | undefined): number | null => {
        if (id === undefined) return null;
        return cursor.isPublic ? (ctx.keys.publicIds.read(id) ?? 0) : id;
      };
      const found = yield* page(request, {
        limit: size,
        before: toInternalId(before),
        after: toInternalId(after),
      });
      const links = pageLinks(requestContext, found, { size, idOf: cursor.of });
      return {
        // The script's type says that each item is a record of the schema.
        body: { [member]: found.items as unknown as Static<TArray<S>> },
        headers: links.length > 0 ? { link: links.join(', ') } : {},
      };
    },
  });
}

/** Converts the items of a page into records. */
export function recordsOf<T, R>(page: ListPage<T>, recordOf: (item: T) => R): ListPage<R> {
  return { ...page, items: page.items.map(recordOf) };
}
