/** Assertions about a service that was killed under load. */

import assert from 'node:assert/strict';
import type { Environment } from './engine-database.ts';
import { command } from './served.ts';
import { assertHolds, type Stored } from './stored.ts';
import type { LoadClient } from './load-client.ts';

export async function assertVerified(environment: Environment): Promise<void> {
  const { code, output, errors } = await command(environment, 'verify', '--json');
  assert.equal(code, 0, `${output}\n${errors}`);
  assert.equal((JSON.parse(output) as { readonly ok: boolean }).ok, true, output);
}

/** Sends the open requests of a crash again: executed ones are replayed, and the others are executed now. */
export async function decideAll(
  url: string,
  database: Stored,
  clients: readonly LoadClient[],
): Promise<number> {
  const done = await assertHolds(database, clients);
  await Promise.all(
    clients.map(async (client) => {
      const { open } = client;
      if (!open) return;
      const { replayed } = await client.decide(url);
      assert.equal(replayed, done.has(open), `${open.method} with the key ${open.key}`);
    }),
  );
  assert.equal((await assertHolds(database, clients)).size, 0);
  return done.size;
}

/** Asserts that the service returns the last known card of each client. */
export async function assertLastCards(
  url: string,
  token: string,
  clients: readonly LoadClient[],
): Promise<void> {
  const lasts = clients.flatMap(({ cards }) => [...cards.values()].at(-1) ?? []);
  for (const { id, balance, note, isDisabled } of lasts) {
    const response = await fetch(`${url}/gift_card/${id}`, { headers: { authorization: `Bearer ${token}` } });
    const { gift_card: card } = (await response.json()) as {
      readonly gift_card: Readonly<Record<string, unknown>>;
    };
    assert.deepEqual(
      [card['balance'], card['note'], card['disabled_at'] !== null],
      [balance, note, isDisabled],
    );
  }
}

/** Asserts that the last acknowledged request of each client before the kill gets the same response again. */
export async function assertReplayed(url: string, clients: readonly LoadClient[]): Promise<void> {
  await Promise.all(clients.map((client) => client.repeat(url)));
}
