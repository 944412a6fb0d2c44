/**
 * A customer who uses every operation on gift cards, one request after the other, each with an idempotency
 * key, and records the acknowledged ones. A request without a response is sent again with its key.
 */

import {
  capture,
  debit,
  decimal,
  placeHold,
  reverse,
  voidHold,
  type Reply,
  type Request,
  type MoneyClient,
} from './client.ts';

/**
 * The requests that a service has acknowledged to its customers. Amounts are minor units, signed by their
 * effect on the balance.
 */
export type Acknowledged = {
  readonly balances: Map<number, bigint>;
  readonly transactions: Map<number, { readonly card: number; readonly amount: bigint }>;
  readonly holds: Map<number, string>;
  readonly disabled: Set<number>;
  adjustments: number;
  requests: number;
};

export function nothingAcknowledged(): Acknowledged {
  const none = { adjustments: 0, requests: 0 };
  return { balances: new Map(), transactions: new Map(), holds: new Map(), disabled: new Set(), ...none };
}

/** A request with its key, and the effect of its success on the customer's records. */
type Asked = {
  readonly request: Request;
  readonly key: string;
  readonly onDone: (reply: Reply) => void;
};

export type Customer = {
  /** Whether a request was sent and has no response. */
  readonly open: () => boolean;
  /** Sends requests until one has no response. */
  work(client: MoneyClient): Promise<void>;
  /** Sends the open request again. @returns whether it had been executed before. */
  decide(client: MoneyClient): Promise<boolean>;
};

/** Errors that a customer must handle. */
const ordinary: ReadonlySet<string | null> = new Set([
  'insufficient-balance',
  'invalid-parameter',
  'card-disabled',
  'undo-window-closed',
  'hold-closed',
  'reversal-exceeds-transaction',
]);

export function newCustomer(
  name: string,
  { shared, acknowledged, random, complain }: {
    /** Cards that several customers spend from. */
    readonly shared: readonly number[];
    readonly acknowledged: Acknowledged;
    readonly random: () => number;
    readonly complain: (complaint: string) => void;
  },
): Customer {
  let asked: Asked | undefined;
  let requests = 0;
  let own: number | undefined;
  /** The holds that this customer placed, and the transactions that can be reversed. */
  const holds: { readonly id: number; readonly card: number }[] = [];
  const transactions: number[] = [];
  const below = (count: number): number => Math.floor(random() * count);
  const amount = (): bigint => BigInt(1 + below(700));
  const takeOne = <T>(values: T[]): T | undefined => values.splice(below(values.length), 1)[0];

  const note = ({ card, transaction, hold }: Reply, request: Request): void => {
    acknowledged.requests += 1;
    if (hold) acknowledged.holds.set(hold.id, hold.status);
    if (!card || !transaction) return;
    if (acknowledged.transactions.has(transaction.id)) complain(`transaction ${transaction.id} was returned twice`);
    acknowledged.transactions.set(transaction.id, { card: card.id, amount: transaction.amount });
    acknowledged.balances.set(card.id, (acknowledged.balances.get(card.id) ?? 0n) + transaction.amount);
    if (!request.line.endsWith('reverse')) transactions.push(transaction.id);
  };
  const nothing = (): void => undefined;

  /** Requests that only change a card of one customer, whose balance is known. */
  const askOwn = (card: number): Omit<Asked, 'key'> => {
    const line = `PUT /gift_card/${card}`;
    switch (below(3)) {
      case 0:
        return {
          request: { line, json: { balance: decimal(amount() * 5n) } },
          onDone({ card: changed }) {
            if (!changed || changed.balance === acknowledged.balances.get(card)) return;
            acknowledged.balances.set(card, changed.balance);
            acknowledged.adjustments += 1;
          },
        };
      case 1:
        return {
          request: { line, json: { disable: true, release_holds: true } },
          onDone() {
            acknowledged.disabled.add(card);
            for (const hold of holds.filter((each) => each.card === card)) acknowledged.holds.set(hold.id, 'voided');
          },
        };
      default:
        return { request: { line: `POST /gift_card/${card}/undo` }, onDone: () => void acknowledged.disabled.delete(card) };
    }
  };

  const choose = (): Omit<Asked, 'key'> => {
    if (own === undefined || below(60) === 0) {
      return {
        request: { line: 'POST /gift_card', json: { initial_value: '50.00' } },
        onDone({ card }) {
          if (!card) return;
          own = card.id;
          acknowledged.balances.set(card.id, card.balance);
        },
      };
    }
    if (acknowledged.disabled.has(own)) return { request: { line: `POST /gift_card/${own}/undo` }, onDone: undisable(own) };
    const card = below(2) === 0 ? own : (shared[below(shared.length)] ?? own);
    switch (below(9)) {
      case 0:
        return askOwn(own);
      case 1:
        return { request: { line: `POST /gift_card/${card}/credit`, json: { amount: decimal(amount()) } }, onDone: nothing };
      case 2:
      case 3: {
        const onDone = ({ hold }: Reply): void => void (hold && holds.push({ id: hold.id, card }));
        return { request: placeHold(card, amount()), onDone };
      }
      case 4: {
        const hold = takeOne(holds);
        if (hold) return { request: capture(hold.id, below(2) === 0 ? undefined : 1n), onDone: nothing };
        break;
      }
      case 5: {
        const hold = takeOne(holds);
        if (hold) return { request: voidHold(hold.id), onDone: nothing };
        break;
      }
      case 6: {
        const transaction = takeOne(transactions);
        if (transaction !== undefined) return { request: reverse(transaction, below(2) === 0 ? undefined : 1n), onDone: nothing };
        break;
      }
      default:
    }
    return { request: debit(card, amount(), below(2) === 0), onDone: nothing };
  };
  const undisable = (card: number) => (): void => void acknowledged.disabled.delete(card);

  const send = async (client: MoneyClient, { request, key, onDone }: Asked): Promise<Reply> => {
    const reply = await client(request, key);
    asked = undefined;
    if (reply.status < 300) {
      note(reply, request);
      onDone(reply);
    } else if (!ordinary.has(reply.code)) complain(`${request.line}: ${reply.status} ${reply.code}`);
    return reply;
  };

  return {
    open: () => asked !== undefined,
    async work(client) {
      for (;;) {
        requests += 1;
        asked = { ...choose(), key: `${name}-${requests}` };
        try {
          await send(client, asked);
        } catch {
          return;
        }
      }
    },
    async decide(client) {
      if (!asked) return false;
      const { isReplayed } = await send(client, asked);
      return isReplayed;
    },
  };
} // prettier-ignore
