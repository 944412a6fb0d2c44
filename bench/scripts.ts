/** The scripts of the service's operations, to be run on a connection without HTTP. */

import { readDatabaseConfig } from '../src/start/config.ts';
import type { Context } from '../src/core/storage/context.ts';
import { openDatabase } from '../src/start/database.ts';
import { noDetails } from '../src/core/cards/domain/fields.ts';
import type { Store } from '../src/core/stores/domain/store.ts';
import { issue } from '../src/core/cards/service/issue.ts';
import { withIdempotencyKey } from '../src/core/requests/service/idempotency.ts';
import { debit } from '../src/core/money/service/spend.ts';
import { requireStore } from '../src/core/stores/service/store.ts';
import type { Script } from '../src/database/sql/sql.ts';
import { domain } from './fixture.ts';
import { cardValue } from './population.ts';
import type { Environment } from './processes.ts';

export type ScriptMaker = () => Script<unknown>;

const apiClientId = 1;
const actor = `api_client:${apiClientId}`;
/** The length of a response to a creation or a debit, which its idempotency key keeps. */
const responseBytes = 450;

/** The keys and the store of a database that no service uses. */
export async function openStore(
  environment: Environment,
): Promise<{ readonly ctx: Context; readonly store: Store }> {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: false });
  const { store } = await database.storage.read(() => requireStore(domain));
  return { ctx: database.ctx, store };
}

/** `anyCard` returns the internal id of a card. */
export function writeScripts(
  ctx: Context,
  { store, anyCard }: { readonly store: Store; readonly anyCard: () => number },
) {
  const { currency } = store;
  const create = () =>
    issue(ctx, {
      store, value: { minor: cardValue, currency }, apiClientId, actor, customer: null, recipient: null,
      details: noDetails, code: null,
    }); // prettier-ignore
  const debitOne = () =>
    debit(ctx, {
      store, cardId: anyCard(), actor, reference: null, note: null, orderId: null, versions: null,
      amount: { minor: 1n, currency }, partial: false,
    }); // prettier-ignore
  let keys = 0;
  const withKey =
    (script: ScriptMaker): ScriptMaker =>
    () => {
      const owner = { storeId: store.id, apiClientId, key: `order-${(keys += 1)}` };
      return withIdempotencyKey(ctx, { owner, request: JSON.stringify([owner.key]) }, function* () {
        yield* script();
        return { status: 201, headers: {}, body: 'x'.repeat(responseBytes) };
      });
    };
  return {
    create,
    'create with a key': withKey(create),
    debit: debitOne,
    'debit with a key': withKey(debitOne),
  };
}
