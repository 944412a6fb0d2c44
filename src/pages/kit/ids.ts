/** Ids in paths, queries and forms: public ids as internal ones, and the ids of what has no public id. */

import { Fault } from '../../core/domain/fault.ts';
import type { PageRequest } from '../../core/money/service/movements.ts';
import type { ConsoleRequest } from './request.ts';
import type { ConsoleServices } from './services.ts';

type Keys = Pick<ConsoleServices, 'ctx'>;

/** Reads an id that has no public form, such as that of a batch, a token or a till; undefined: the text is not an id. */
export function readStoredId(text: string | undefined): number | undefined {
  const id = /^[1-9]\d{0,15}$/.test(text ?? '') ? Number(text) : Number.NaN;
  return Number.isSafeInteger(id) ? id : undefined;
}

/** Such an id as a parameter of the path. @throws Fault `not-found` if it is not an id. */
export function storedIdIn({ params }: Pick<ConsoleRequest, 'params'>, name = 'id'): number {
  const id = readStoredId(params[name]);
  if (id === undefined) throw new Fault('not-found');
  return id;
}

/** The part of a list that a query asks for: before or after an entry with such an id. */
export function placeIn({ query }: Pick<ConsoleRequest, 'query'>, limit: number): PageRequest {
  const [before = null, after = null] = [readStoredId(query.get('before')), readStoredId(query.get('after'))];
  return { before, after, limit };
}

/** The internal id; undefined: the text is not a public id. */
export function readId({ ctx }: Keys, text: string | undefined): number | undefined {
  const id = readStoredId(text);
  return id === undefined ? undefined : ctx.keys.publicIds.read(id);
}

/** The internal id of a parameter of the path. @throws Fault `not-found` if it is not a public id. */
export function idIn(services: Keys, { params }: Pick<ConsoleRequest, 'params'>, name = 'id'): number {
  const id = readId(services, params[name]);
  if (id === undefined) throw new Fault('not-found');
  return id;
}
