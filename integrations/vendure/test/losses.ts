/** Loses messages between Vendure and Largesse, as a network does. */

import type { IncomingMessage } from 'node:http';
import type { Shop } from './shop.ts';

/** A kind of request to Largesse. */
export type Kind = 'lookup' | 'hold' | 'capture' | 'void' | 'reverse';

const paths: Readonly<Record<Kind, RegExp>> = {
  lookup: /\/lookup$/,
  hold: /\/gift_card\/\d+\/holds$/,
  capture: /\/capture$/,
  void: /\/void$/,
  reverse: /\/reverse$/,
};

export function isOf(kind: Kind, { method, url = '' }: IncomingMessage): boolean {
  return method === 'POST' && paths[kind].test(url);
}

/**
 * Loses messages of a kind while `body` runs: the next ones, at most `count`. Returns the number of requests of the kind.
 * @param lost runs after each loss.
 */
export async function losing(
  { gateway }: Shop,
  {
    kind,
    fate,
    count = Infinity,
    lost = () => {},
  }: {
    readonly kind: Kind;
    readonly fate: 'before' | 'after';
    readonly count?: number;
    readonly lost?: () => void;
  },
  body: () => Promise<void>,
): Promise<number> {
  let requests = 0;
  gateway.lose = (request) => {
    if (!isOf(kind, request)) return 'none';
    requests += 1;
    return requests <= count ? fate : 'none';
  };
  gateway.lost = lost;
  try {
    await body();
  } finally {
    gateway.lose = () => 'none';
    gateway.lost = () => {};
  }
  return requests;
}

/** Responds to no request while `body` runs. */
export async function freezing({ gateway }: Shop, body: () => Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<'before'>();
  gateway.lose = () => promise;
  try {
    await body();
  } finally {
    gateway.lose = () => 'none';
    resolve('before');
  }
}
