/**
 * Clients that issue and change their cards. No acknowledged request is lost or partly executed, each gets the same response
 * again with its key, byte for byte, and a request without a response is executed once when it is sent again.
 */

import assert from 'node:assert/strict';
import { assertLastCards, assertReplayed, decideAll } from '../../support/kills.ts';
import { countAcknowledged, LoadClient, type KnownCard } from '../../support/load-client.ts';
import { isRejected, persist, type Load, type World } from '../killing.ts';

const clientCount = 10;

/** Works until it is over. After each error of its connection, a client sends the open request until it has a response. */
async function workOn(client: LoadClient, url: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const outcome = await client.work(url, isOver);
    // A process that ends rejects requests.
    if (isOver()) return;
    assert.ok(
      !outcome?.status || isRejected({ status: outcome.status }, isOver),
      'a 503 from a running service',
    );
    await persist(isOver, async () => client.open && (await client.decide(url)));
  }
}

/** @param known gets every acknowledged card as it is. */
export const openCards =
  (known: Map<number, KnownCard> = new Map()) =>
  async ({ database, url, random, openStore }: World): Promise<Load> => {
    const { token, storeId } = await openStore('cards.example');
    const acknowledged = (_request: unknown, card: KnownCard): void => void known.set(card.id, card);
    const clients = Array.from(
      { length: clientCount },
      (_, place) => new LoadClient({ name: `client-${place}`, token, random, acknowledged }),
    );
    const stored = { query: database.query.bind(database), keysFile: database.keysFile, storeId };
    let done = 0;
    return {
      name: 'cards',
      count: () => countAcknowledged(clients),
      async work(isOver) {
        await Promise.all(clients.map((client) => workOn(client, url, isOver)));
      },
      async checkRestarted() {
        await assertReplayed(url, clients);
        done += await decideAll(url, stored, clients);
        await assertLastCards(url, token, clients);
      },
      summary: () => `${done} requests had been executed without a response`,
      close() {
        for (const client of clients) client.close();
      },
    };
  };
