/** Scripts that make an object with an external id, as requests to the API run them. */

import assert from 'node:assert/strict';
import { withExternalId, type ExternalId } from '../../src/core/requests/service/external-ids.ts';
import type { Context } from '../../src/core/storage/context.ts';
import type { Script } from '../../src/database/sql/sql.ts';

/** Runs a script, and records the external id as used for its object. */
export function* usingExternalId<T>(
  ctx: Context,
  id: ExternalId,
  made: { readonly run: () => Script<T>; readonly idOf: (result: T) => number },
): Script<T> {
  const find = () => assert.fail('the external id was used before');
  const request = { ...id, actor: 'test', asked: [id.text] };
  return (yield* withExternalId<T>(ctx, request, { ...made, find })).result;
}
