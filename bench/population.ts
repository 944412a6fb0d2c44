/** The cards in a database before anything is measured. */

import { LoadClient, type Request } from './load.ts';

/** The value of every card, in cents. */
export const cardValue = 2_500n;
/** One card in four has a customer, each a different one. */
const customerEvery = 4;
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

/** The body of the request that issues a card. */
export function newCardOf(index: number): object {
  const customer = index % customerEvery === 0 ? { email: emailOf(index), notify: false } : {};
  return { initial_value: Number(cardValue) / 100, note: 'Sold at the counter', ...customer };
}

function emailOf(index: number): string {
  return `customer-${String(index).padStart(8, '0')}@example.com`;
}

/** Issues cards one by one through the API, which is the same in services of different ages. */
export async function populate(
  { port }: { readonly port: number },
  {
    token,
    cards,
    connections,
  }: { readonly token: string; readonly cards: number; readonly connections: number },
): Promise<Population> {
  const population = new Population(cards);
  const head = `POST /gift_card HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`;
  let count = 0;
  const next = (): Request => {
    const index = count;
    count += 1;
    const body = JSON.stringify(newCardOf(index));
    const headers = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    const check = (response: string): void => {
      const { gift_card: card } = JSON.parse(response) as {
        readonly gift_card: { readonly id: number; readonly last_characters: string };
      };
      population.add(index, { id: card.id, lastCharacters: card.last_characters });
    };
    return { method: 'POST', text: `${head}${headers}\r\n${body}`, status: 201, check };
  };
  using client = await LoadClient.connect([port], connections);
  await client.run({ next, requests: cards });
  return population;
}
