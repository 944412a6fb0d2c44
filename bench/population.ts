/** The cards in a database before anything is measured. */

import { noDetails } from '../src/domain/card.ts';
import { readDatabaseConfig } from '../src/config.ts';
import { openDatabase } from '../src/database.ts';
import { parseEmail, type EmailAddress } from '../src/domain/email-address.ts';
import { issue } from '../src/service/card.ts';
import { requireStore } from '../src/service/store.ts';
import type { Environment } from './processes.ts';

/** The value of every card, in cents. */
export const cardValue = 2_500n;
/** One card in four has a customer, each a different one. */
const customerEvery = 4;
/** Cards issued at once; fewer than the service's longest queue. */
const issuedAtOnce = 2_048;
const lastCharactersLength = 4;

export class Population {
  readonly size: number;
  /** Public ids. */
  readonly #ids: Float64Array;
  readonly #lastCharacters: Buffer;

  constructor(size: number) {
    this.size = size;
    this.#ids = new Float64Array(size);
    this.#lastCharacters = Buffer.alloc(size * lastCharactersLength);
  }

  add(index: number, card: { readonly id: number; readonly lastCharacters: string }): void {
    this.#ids[index] = card.id;
    this.#lastCharacters.write(card.lastCharacters, index * lastCharactersLength, 'latin1');
  }

  /** The public id of a random card. */
  anyId(): number {
    return this.#ids[Math.floor(Math.random() * this.size)] ?? 0;
  }

  /** The parameters of a search for a random card that has a customer, and its id. */
  anySearch(): { readonly id: number; readonly email: string; readonly lastCharacters: string } {
    const customers = Math.ceil(this.size / customerEvery);
    const index = Math.floor(Math.random() * customers) * customerEvery;
    const start = index * lastCharactersLength;
    return {
      id: this.#ids[index] ?? 0,
      email: emailOf(index),
      lastCharacters: this.#lastCharacters.toString('latin1', start, start + lastCharactersLength),
    };
  }
}

function emailOf(index: number): string {
  return `customer-${String(index).padStart(8, '0')}@example.com`;
}

export function addressOf(text: string): EmailAddress {
  const address = parseEmail(text);
  if (!address.ok) throw new Error(`${text} is not a valid address`);
  return address.value;
}

/** Issues cards through the service's own script, in this process, while no service runs on the database. */
export async function populate(
  environment: Environment,
  { domain, cards }: { readonly domain: string; readonly cards: number },
): Promise<Population> {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: false });
  const { ctx, storage } = database;
  const { store } = await storage.read(() => requireStore(domain));
  const population = new Population(cards);
  const command = {
    store, value: { minor: cardValue, currency: store.currency }, recipient: null,
    details: { ...noDetails, note: 'Sold at the counter' }, code: null, apiClientId: null, actor: 'bench',
  }; // prettier-ignore
  const add = async (index: number): Promise<void> => {
    const customer = index % customerEvery === 0 ? addressOf(emailOf(index)) : null;
    const { card } = await storage.write(() => issue(ctx, { ...command, customer }));
    population.add(index, { id: ctx.keys.publicIds.of(card.id), lastCharacters: card.lastCharacters });
  };
  for (let start = 0; start < cards; start += issuedAtOnce) {
    const count = Math.min(issuedAtOnce, cards - start);
    await Promise.all(Array.from({ length: count }, (_, place) => add(start + place)));
  }
  return population;
}
