/** Objects that a path names by their external ids. */

import { Fault } from '../../domain/fault.ts';
import type { Caller } from '../../../http/auth.ts';
import type { RequestContext } from '../../../http/request-context.ts';
import { findByExternalId, type ExternalId } from '../../requests/service/external-ids.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { ExternalPath } from '../../../api/path.ts';

/** Runs a script with the internal id of the object that a path names by its external id. @throws Fault `not-found`. */
export function* runByExternalId<T>(
  requestContext: RequestContext,
  external: ExternalPath,
  run: (found: Readonly<Record<string, number>>) => Script<T>,
): Script<T> {
  const found = yield* findExternalIn(requestContext, external);
  if (found === undefined) throw new Fault('not-found');
  return yield* run({ [external.name]: found });
}

export function externalIdIn(
  { caller }: Pick<RequestContext, 'caller'>,
  { kind, text }: ExternalPath,
): ExternalId {
  return { storeId: caller.store.id, kind, text };
}

/** Returns the object with the external id of a path, if the caller can see it. */
export function* findExternalIn(
  requestContext: Pick<RequestContext, 'caller' | 'ctx'>,
  external: ExternalPath,
): Script<number | undefined> {
  const { ctx, caller } = requestContext;
  return yield* findByExternalId(ctx, externalIdIn(requestContext, external), seenOf(caller));
}

/** The actor whose objects the caller finds by an external id; null: everyone's. */
export function seenOf({ scopes, actor }: Caller): string | null {
  return scopes.includes('read_gift_cards') ? null : actor;
}
