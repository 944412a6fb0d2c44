/** The scripts of the service's operations, to be run on a connection without HTTP. */

import { noDetails } from '../src/domain/card.ts';
import type { Context } from '../src/context.ts';
import type { Store } from '../src/domain/store.ts';
import { issue, retrieve, search } from '../src/service/card.ts';
import { fingerprintsOf, withIdempotencyKey } from '../src/service/idempotency.ts';
import { debit } from '../src/service/spend.ts';
import type { Script } from '../src/storage/sql.ts';
import { addressOf, cardValue, type Population } from './population.ts';

export type ScriptMaker = () => Script<unknown>;

const apiClientId = 1;
const actor = `api_client:${apiClientId}`;
/** The length of a response to a creation or a debit, which its idempotency key keeps. */
const responseBytes = 450;

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
      return withIdempotencyKey(ctx, { owner, fingerprints: fingerprintsOf(ctx, [owner.key]) }, function* () {
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

export function readScripts(
  ctx: Context,
  given: { readonly store: Store; readonly anyCard: () => number; readonly population: Population },
) {
  const { store, anyCard, population } = given;
  return {
    retrieve: () => retrieve(store.id, anyCard()),
    search() {
      const { email, lastCharacters } = population.anySearch();
      const address = addressOf(email);
      return search(ctx, { store, address, lastCharacters, onlyStorefrontCustomerId: null });
    },
  };
}
