/**
 * The cost of features for cards that use none of them: two services run in turn. In the store of one, the other cards
 * have locations, external ids and suspensions, and printed codes are in stock.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { costsIn } from './compare.ts';
import { prepare, start, stop, type Database, type Fixture } from './fixture.ts';
import { LoadClient, type Request } from './load.ts';
import { measureFixtures } from './measure.ts';
import type { OperationName } from './operations.ts';
import type { Server } from './processes.ts';
import type { UnusedFeatures } from './results.ts';
import type { Bench } from './rounds.ts';
import { thisTree } from './tree.ts';

/** The cards that are measured, unless the run is about fewer. The store has as many others, and as many codes in stock. */
const cardsMax = 10_000;
const measuredOperations = ['create', 'debit'] as const satisfies readonly OperationName[];

const locations = 10;
const suspendedEvery = 4;
const pollMs = 100;

/** @throws Error if a response was wrong, or a ledger does not agree with the responses. */
export async function measureUnusedFeatures(
  { plan, folder }: Bench,
  databases: { readonly without: Database; readonly within: Database },
): Promise<readonly UnusedFeatures[]> {
  const bench = {
    folder,
    plan: { ...plan, operations: measuredOperations, rounds: plan.featureRounds },
  };
  const measuredCards = Math.min(cardsMax, ...plan.cards);
  const fill = async (database: Database, areUsed: boolean): Promise<Fixture> => {
    const fixture = await prepare(bench, { tree: thisTree, database, cards: measuredCards });
    await using service = await start(fixture);
    await addOthers(service, { fixture, areUsed, connections: plan.connections });
    await stop(service);
    return fixture;
  };
  const before = await fill(databases.without, false);
  const after = await fill(databases.within, true);
  const { engine, cards, compared } = await measureFixtures(bench.plan, { before, after });
  return compared.flatMap((each) =>
    costsIn(each).map(({ part, before: without, after: within }) => ({
      engine,
      cards: 2 * cards,
      operation: `${each.operation}${part}`,
      ratios: within.map((micros, pair) => micros / (without[pair] ?? Number.NaN)),
    })),
  );
}

/** Issues as many cards again, and debits each. Only if the features are used, they differ from the measured cards. */
async function addOthers(
  { port }: Pick<Server, 'port'>,
  options: { readonly fixture: Fixture; readonly areUsed: boolean; readonly connections: number },
): Promise<void> {
  const { fixture, areUsed, connections } = options;
  const { token, cards, expected } = fixture;
  const places = areUsed ? await prepareStore({ port, token, codes: cards }) : [];
  using client = await LoadClient.connect([port], connections);
  const send = (requests: readonly Request[]) =>
    client.run({ next: requestsInTurn(requests), requests: requests.length });
  const ids: number[] = [];
  const others = otherCards({ token, places, onIssued: (id) => ids.push(id) });
  await send(Array.from({ length: cards }, (_, place) => others.creation(place)));
  await send(ids.map(others.debit));
  expected.creations += ids.length;
  expected.debits += ids.length;
  if (areUsed) await send(ids.filter((_, place) => place % suspendedEvery === 0).map(others.suspension));
}

function requestsInTurn(requests: readonly Request[]): () => Request {
  const remaining = requests.values();
  return () => remaining.next().value ?? assert.fail('every request was sent');
}

export type OtherCards = {
  readonly token: string;
  /** The ids of the locations; empty: the cards use no feature. */
  readonly places: readonly number[];
  readonly onIssued: (id: number) => void;
};

/** The requests that make the other cards of a store, by their places. */
export function otherCards({ token, places, onIssued }: OtherCards) {
  const usesOf = (kind: string, place: number): object =>
    places.length === 0
      ? {}
      : { external_id: `${kind}/${place}`, location_id: places[place % places.length] };
  const post = (path: string, content: object, given: Partial<Request> = {}): Request => {
    const body = JSON.stringify(content);
    const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`;
    const type = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    return { method: 'POST', text: `${head}${type}\r\n${body}`, status: 201, check: null, ...given };
  };
  return {
    creation: (place: number) =>
      post(
        '/gift_card',
        { initial_value: 25, ...usesOf('card', place) },
        {
          check(body) {
            const { gift_card: card } = JSON.parse(body) as { readonly gift_card: { readonly id: number } };
            onIssued(card.id);
          },
        },
      ),
    debit: (id: number, place: number) =>
      post(`/gift_card/${id}/debit`, { amount: '0.01', ...usesOf('sale', place) }),
    suspension: (id: number) => post(`/gift_card/${id}/suspend`, {}, { status: 200 }),
  };
}

/** Adds locations and a stock of printed codes, and returns the ids of the locations. */
async function prepareStore({
  port,
  token,
  codes,
}: {
  readonly port: number;
  readonly token: string;
  readonly codes: number;
}): Promise<readonly number[]> {
  const request = async <T>(path: string, content?: object): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: content ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(content && { body: JSON.stringify(content) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  };
  type Stock = { readonly stock: { readonly id: number; readonly state: string } };
  let { stock } = await request<Stock>('/stocks', { count: codes, fixed_value: '25.00' });
  while (stock.state === 'running') {
    await wait(pollMs);
    ({ stock } = await request<Stock>(`/stocks/${stock.id}`));
  }
  const ids: number[] = [];
  for (let place = 1; place <= locations; place += 1) {
    const { location } = await request<{ readonly location: { readonly id: number } }>('/locations', {
      name: `Shop ${place}`,
    });
    ids.push(location.id);
  }
  return ids;
}
