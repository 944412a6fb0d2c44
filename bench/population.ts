/** The cards that are there before anything is measured. */

import { noDetails } from '../src/domain/card.ts';
import { readDatabaseConfig } from '../src/config.ts';
import { openDatabase } from '../src/database.ts';
import { parseEmail, type EmailAddress } from '../src/domain/email.ts';
import { issue, type IssueCommand } from '../src/service/card.ts';
import { requireStore } from '../src/service/store.ts';
import type { Loading } from './results.ts';
import type { Environment } from './processes.ts';

/** What every card is worth when it is loaded or created, in cents. */
export const cardValue = 2_500n;
/** What the one rich card is worth, which can afford every debit of a run, in cents. */
export const richValue = 99_999_999_999_900n;
/** One card in so many has a customer, each another one. */
const customerEvery = 4;
/** Cards that are under way at once; the service's own maximum of waiting scripts is above it. */
const loadedAtOnce = 2_048;
const lastCharactersLength = 4;

export class Population {
  readonly size: number;
  /** Public ids. */
  readonly #ids: Float64Array;
  readonly #lastCharacters: Buffer;
  /** The public id of the card that can afford every debit. */
  richId = 0;

  constructor(size: number) {
    this.size = size;
    this.#ids = new Float64Array(size);
    this.#lastCharacters = Buffer.alloc(size * lastCharactersLength);
  }

  add(index: number, card: { readonly id: number; readonly lastCharacters: string }): void {
    this.#ids[index] = card.id;
    this.#lastCharacters.write(card.lastCharacters, index * lastCharactersLength, 'latin1');
  }

  /** The public id of one of the cards, each as likely as any other. */
  anyId(): number {
    return this.#ids[Math.floor(Math.random() * this.size)] ?? 0;
  }

  /** What a search for one of the cards that have a customer asks for, and the card that it means. */
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

function customerOf(index: number): EmailAddress | null {
  if (index % customerEvery !== 0) return null;
  const address = parseEmail(emailOf(index));
  if (!address.ok) throw new Error(`an address ${address.refusal}`);
  return address.value;
}

/** Issues cards through the service's own script, in this process, while no service runs on the database. */
export async function populate(
  environment: Environment,
  { domain, cards }: { readonly domain: string; readonly cards: number },
): Promise<{ readonly population: Population; readonly loading: Loading }> {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: false });
  const { ctx, storage } = database;
  const { store } = await storage.read(() => requireStore(domain));
  const population = new Population(cards);
  const issued = async (value: bigint, customer: IssueCommand['customer']) => {
    const money = { minor: value, currency: store.currency };
    const { card } = await storage.write(() =>
      issue(ctx, {
        store, value: money, customer, recipient: null, details: { ...noDetails, note: 'Sold at the counter' },
        code: null, apiClientId: null, actor: 'bench',
      }),
    ); // prettier-ignore
    return { id: ctx.keys.publicIds.of(card.id), lastCharacters: card.lastCharacters };
  };
  const startedAt = performance.now();
  for (let start = 0; start < cards; start += loadedAtOnce) {
    const indexes = Array.from(
      { length: Math.min(loadedAtOnce, cards - start) },
      (_, place) => start + place,
    );
    await Promise.all(
      indexes.map(async (index) => population.add(index, await issued(cardValue, customerOf(index)))),
    );
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  population.richId = (await issued(richValue, null)).id;
  const way = "the service's own script for creations, in one process, as many as fit in one commit";
  return { population, loading: { way, rows: null, seconds } };
}
