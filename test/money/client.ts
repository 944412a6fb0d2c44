/**
 * A point of sale that uses a running service over HTTP, and reads movements of money from responses. Amounts
 * are minor units.
 */

import { send } from '../support/http-client.ts';

export type Reply = {
  readonly status: number;
  /** The code of an error; null for a success. */
  readonly code: string | null;
  readonly isReplayed: boolean;
  readonly card: { readonly id: number; readonly balance: bigint; readonly held: bigint } | null;
  readonly transaction: { readonly id: number; readonly amount: bigint } | null;
  readonly hold: { readonly id: number; readonly status: string } | null;
};

/** A request: a method and path, and the parameters. */
export type Request = { readonly line: string; readonly json?: Readonly<Record<string, unknown>> };

/** @throws Error if the connection breaks: it is then unknown whether the request was executed. */
export type MoneyClient = (request: Request, key?: string) => Promise<Reply>;

export function openMoneyClient(url: string, token: string): MoneyClient {
  return async ({ line, json = {} }, key) => {
    const [method = '', path = ''] = line.split(' ');
    const response = await send(`${url}${path}`, {
      method,
      token,
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
      ...(method !== 'GET' && { json }),
    });
    const body = response.json as Body;
    const { gift_card: card, transaction, hold } = body;
    return {
      status: response.status,
      code: body.type?.split('/').at(-1) ?? null,
      isReplayed: response.headers.get('idempotent-replayed') === 'true',
      card: card ? { id: card.id, balance: minor(card.balance), held: minor(card.held ?? '0.00') } : null,
      transaction: transaction ? { id: transaction.id, amount: minor(transaction.amount) } : null,
      hold: hold ? { id: hold.id, status: hold.status } : null,
    };
  };
}

type Body = {
  readonly type?: string;
  readonly gift_card?: { readonly id: number; readonly balance: string; readonly held?: string };
  readonly transaction?: { readonly id: number; readonly amount: string };
  readonly hold?: { readonly id: number; readonly status: string };
};

/** Converts a decimal text with two decimals to minor units. */
function minor(text: string): bigint {
  return BigInt(text.replace('.', ''));
}

/** Converts minor units to a decimal text. */
export function decimal(amount: bigint): string {
  const digits = String(amount).padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

export const debit = (card: number, amount: bigint, partial = false): Request => ({
  line: `POST /gift_card/${card}/debit`,
  json: { amount: decimal(amount), partial },
});

export const placeHold = (card: number, amount: bigint, seconds = 900): Request => ({
  line: `POST /gift_card/${card}/holds`,
  json: { amount: decimal(amount), expires_in: seconds },
});

export const capture = (hold: number, amount?: bigint): Request => ({
  line: `POST /holds/${hold}/capture`,
  json: amount === undefined ? {} : { amount: decimal(amount) },
});

export const voidHold = (hold: number): Request => ({ line: `POST /holds/${hold}/void` });

export const reverse = (transaction: number, amount?: bigint): Request => ({
  line: `POST /transactions/${transaction}/reverse`,
  json: amount === undefined ? {} : { amount: decimal(amount) },
});
