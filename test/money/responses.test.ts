/** Versions in the requests of movements, and responses of movements with expired holds. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { unheldOf } from '../../src/core/cards/domain/card.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import type { Action } from '../support/reference-model.ts';
import { openBooks } from './open-books.ts';
import { perform, errorOf, type Done } from './service-under-test.ts';

const onCard = { card: 0, isCurrent: null };

async function openCard() {
  const books = await openBooks();
  const { ctx, storage, store } = books;
  const act = (action: Action, places: readonly number[], versions: readonly number[] | null = null): Promise<Done> =>
    storage.write((): Script<Done> => perform({ ctx, store, places: { cards: places, holds: [], transfers: [] } }, action, versions));
  const { card } = await act({ kind: 'issue', amount: 3_000n, expiresOn: null }, []);
  assert.ok(card);
  return {
    clock: books.clock,
    act: (action: Action, versions: readonly number[] | null = null) => act(action, [card.id], versions),
    [Symbol.asyncDispose]: () => books[Symbol.asyncDispose](),
  };
} // prettier-ignore

const movements: readonly Action[] = [
  { kind: 'debit', amount: 100n, partial: false, ...onCard },
  { kind: 'credit', amount: 100n, ...onCard },
  { kind: 'hold', amount: 100n, seconds: 60, ...onCard },
];

for (const action of movements) {
  test(`a ${action.kind} for the versions before and after the current one is rejected, as an update is`, async () => {
    await using opened = await openCard();
    for (const note of ['one', 'two', 'three']) {
      await opened.act({ kind: 'update', releaseHolds: false, changes: { note }, ...onCard });
    }
    const update: Action = { kind: 'update', releaseHolds: false, changes: { note: 'four' }, ...onCard };
    for (const each of [update, action]) {
      await assert.rejects(opened.act(each, [3, 5]), (error) => {
        assert.equal(errorOf(error).code, 'precondition-failed');
        return true;
      });
    }
  });
}

for (const action of movements) {
  test(`the response to a ${action.kind} does not count an expired hold as held`, async () => {
    await using opened = await openCard();
    await opened.act({ kind: 'hold', amount: 1_000n, seconds: 60, ...onCard });
    opened.clock.advance(60_000);
    const { card } = await opened.act(action);
    assert.ok(card);
    const held = action.kind === 'hold' ? 100n : 0n;
    assert.equal(card.held.minor, held);
    assert.equal(unheldOf(card).minor, card.balance.minor - held);
  });
}
