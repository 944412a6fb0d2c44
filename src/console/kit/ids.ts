/** Public ids in paths, as the internal ids that the services use. */

import { Fault } from '../../domain/fault.ts';
import type { ConsoleRequest } from './request.ts';
import type { ConsoleServices } from './route.ts';

type Keys = Pick<ConsoleServices, 'ctx'>;

/** The internal id; undefined: the text is not a public id. */
export function readId({ ctx }: Keys, text: string | undefined): number | undefined {
  return /^[1-9]\d{0,15}$/.test(text ?? '') ? ctx.keys.publicIds.read(Number(text)) : undefined;
}

/** The internal id of a parameter of the path. @throws Fault `not-found` if it is not a public id. */
export function idIn(services: Keys, { params }: Pick<ConsoleRequest, 'params'>, name = 'id'): number {
  const id = readId(services, params[name]);
  if (id === undefined) throw new Fault('not-found');
  return id;
}
