import assert from 'node:assert/strict';
import test from 'node:test';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { CardPlaces } from '../../src/features/books/service/card-places.ts';
import { CardTrails } from '../../src/features/proofs/service/card-trails.ts';
import { digestWith } from '../../src/features/proofs/service/digest.ts';
import type { Finding } from '../../src/features/proofs/service/row-check.ts';

const currency = currencyOf('USD');
const cardId = 17;
const lookup = 5n;

/** The trail of one card of 15.00 with the balances after its transfers. */
function trailsOf(version: number, balances: readonly bigint[]): CardTrails {
  const trails = new CardTrails(currency, new CardPlaces([cardId]));
  const card = {
    id: cardId,
    version,
    currency: 'USD',
    initial_value: 1_500,
    balance: Number(balances.at(-1)),
    held: 0,
    redeemed: 0,
    code_lookup: null,
    last_characters: 'abcd',
    vat: null,
    customer_id: null,
    customer_email: null,
    recipient_id: null,
    recipient_email: null,
    note: null,
    message: null,
    expires_on: null,
    disabled_at: null,
    created_at: 0,
    line_item_id: null,
    order_id: null,
    user_id: null,
    api_client_id: null,
    expired_event_day: null,
    expiring_soon_event_day: null,
    erased_event_version: null,
    last_transfer_id: 1,
    chain_length: balances.length,
    chain_hash: new Uint8Array(32),
  };
  trails.add(
    card,
    balances.reduce((before, balance) => digestWith(before, Number(balance)), 0),
  );
  trails.addRecord(card);
  const digest = Buffer.alloc(32);
  digest.writeBigInt64BE(lookup);
  assert.equal(trails.compareCode({ cardId, lookup, digest }), undefined);
  return trails;
}

/** Compares events, given as versions with balances, and returns all findings. */
function findingsOf(
  trails: CardTrails,
  events: readonly (readonly [version: number, balance: string])[],
): readonly Finding[] {
  const wrong = events.flatMap(([version, balance], place) => {
    const isFirst = version === 1;
    const gift_card = {
      ...noFields,
      balance,
      currency: 'USD',
      initial_value: '15.00',
      created_at: '1970-01-01T00:00:00Z',
      last_characters: 'abcd',
    };
    const data = JSON.stringify({ gift_card, ...(!isFirst && { changed: ['balance'] }) });
    const type = isFirst ? 'gift_card.created' : 'gift_card.updated';
    const event = { id: place + 1, type, subjectId: cardId, version, data };
    return trails.compareEvent(event, trails.readQuickly(event)) ?? [];
  });
  return [...wrong, ...trails.conclude()];
}

const noFields = Object.fromEntries(
  [
    'disabled_at',
    'line_item_id',
    'api_client_id',
    'user_id',
    'customer_email',
    'recipient_email',
    'note',
    'expires_on',
    'message',
    'order_id',
  ].map((field) => [field, null]),
);

const balances = [1_500n, 1_000n, 1_500n, 200n];
const events = [[1, '15.00'], [2, '10.00'], [3, '10.00'], [4, '15.00'], [5, '2.00']] as const; // prettier-ignore

test('events agree with the transfers, including events that do not change the balance', () => {
  assert.deepEqual(findingsOf(trailsOf(5, balances), events), []);
});

test('several events of one version agree', () => {
  assert.deepEqual(findingsOf(trailsOf(5, balances), [...events, [5, '2.00'], [4, '15.00']]), []);
});

test('events agree if their ids and versions have different orders', () => {
  const orders = [[4, 3, 2, 1, 0], [0, 2, 1, 4, 3], [1, 0, 3, 2, 4], [2, 4, 0, 1, 3]]; // prettier-ignore
  for (const order of orders) {
    const shuffled = order.flatMap((place) => (events[place] ? [events[place]] : []));
    assert.deepEqual(findingsOf(trailsOf(5, balances), shuffled), [], order.join(', '));
  }
});

test('a balance that does not follow from a transfer is found in any event', () => {
  const problem = 'has events whose balances differ from its transfers';
  for (const place of events.keys()) {
    const changed = events.map(
      ([version, balance], at) => [version, at === place ? '1.00' : balance] as const,
    );
    assert.deepEqual(
      findingsOf(trailsOf(5, balances), changed),
      [{ cardId, problem }],
      `version ${place + 1}`,
    );
  }
});

test('two balances of one version are found', () => {
  const problem = 'event 6 has another balance than an earlier event of the same version';
  assert.deepEqual(findingsOf(trailsOf(5, balances), [...events, [5, '3.00']]), [{ cardId, problem }]);
});

test('a missing event is found whatever follows it, with bounded memory', () => {
  for (const place of events.keys())
    assert.deepEqual(findingsOf(trailsOf(5, balances), events.toSpliced(place, 1)), [
      { cardId, problem: `has no event of version ${place + 1}` },
    ]);
  const many = Array.from({ length: 100_100 }, (_, place) => [place + 2, '15.00'] as const);
  assert.deepEqual(findingsOf(trailsOf(200_000, balances), many), [
    { cardId, problem: 'has no event of version 1' },
  ]);
});

test('amounts must have the decimals of the currency', () => {
  for (const balance of ['15', '15.0', '15.000', '-15.00', '1e3', '', ' 15.00', '9'.repeat(16) + '.00'])
    assert.deepEqual(findingsOf(trailsOf(1, [1_500n]), [[1, balance]]), [
      { cardId, problem: "event 1 has a record that differs from the card's" },
    ]);
});
