/** The routes of operations, and what they document of themselves. */

import { Fault, FieldErrors, type FaultCode } from '../core/domain/fault.ts';
import type { Scope } from '../core/stores/domain/store.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { Route } from '../http/route.ts';
import type { Documentation, Sample, Tag } from './documentation.ts';
import { fieldReader, type FieldContext, type Fields, type Values } from './field.ts';
import { idNamesIn, pathIds } from './path.ts';

export function routeOf<Id extends string>(
  {
    id,
    path,
    scopes,
    customerMaySearch = false,
    bodyBytesMax,
  }: Common<Id, string> & { readonly customerMaySearch?: boolean },
  method: Route['method'],
): Pick<Operation<Id>, 'id' | 'method' | 'path' | 'scopes' | 'customerMaySearch' | 'bodyBytesMax'> {
  return { id, method, path, scopes, customerMaySearch, ...(bodyBytesMax !== undefined && { bodyBytesMax }) };
}

export function commonDocumentation(definition: Common<string, string>): Omit<Documentation, 'response'> {
  const { tag, summary, description, errors, sample = {} } = definition;
  return {
    tag, summary, description, errors, sample, query: {}, body: null, isWrite: false, isConditional: false,
    repeated: null, takesLastEventId: false, isThrottled: isThrottled(definition), isUnlimited: false,
  }; // prettier-ignore
}

export function isThrottled({ path, isSearch = false }: Common<string, string>): boolean {
  return isSearch || idNamesIn(path).some((name) => pathIds[name].isPublic);
}

export function queryReader<Q extends Fields>(query: Q, code: 'invalid-query' | 'invalid-parameter') {
  const readFields = fieldReader(query);
  return (requestContext: RequestContext, context: Omit<FieldContext, 'isForm'>): Values<Q> => {
    // A required parameter without a value is missing.
    const sent = requestContext.query.filter(([name, value]) => value !== '' || !query[name]?.isRequired);
    const errors = new FieldErrors();
    const body = { parameters: new Map(sent), isForm: true };
    const values = readFields(body, { ...context, isForm: true }, errors);
    if (errors.any) throw new Fault(code, { errors: errors.toErrors() });
    return values as Values<Q>;
  };
}

export type Common<Id extends string, P extends string> = {
  readonly id: Id;
  /** Below the base path, in the router's notation. */
  readonly path: P;
  /** Any one of them is enough. */
  readonly scopes: readonly Scope[];
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  /** Whether it finds a card by something other than an id in its path, so that "not found" is a failed lookup. */
  readonly isSearch?: boolean;
  /** Maximum length of its body; absent: the one of all operations. */
  readonly bodyBytesMax?: number;
  /** The errors in addition to those of every operation, body, write and lookup. */
  readonly errors: readonly FaultCode[];
  readonly sample?: Sample;
};

export type Operation<Id extends string = string> = Route & {
  readonly id: Id;
  readonly documentation: Documentation;
};
