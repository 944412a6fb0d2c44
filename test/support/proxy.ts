/** Signs queries as a storefront's app proxy does, and as an attacker would. */

import { createHmac } from 'node:crypto';

export type Pair = readonly [name: string, value: string];

/**
 * The signature over exactly these parameters: decoded, sorted by name, several values joined with a comma.
 */
export function signatureOf(secret: string, pairs: readonly Pair[]): string {
  const values = Map.groupBy(pairs, ([name]) => name);
  const text = [...values.keys()]
    .toSorted()
    .map((name) => `${name}=${(values.get(name) ?? []).map(([, value]) => value).join(',')}`)
    .join('');
  return createHmac('sha256', secret).update(text).digest('hex');
}

export function queryOf(pairs: readonly Pair[]): string {
  return new URLSearchParams(pairs.map(([name, value]) => [name, value])).toString();
}

/** The parameters and their signature, as a query. */
export function sign(secret: string, pairs: readonly Pair[]): string {
  return queryOf([...pairs, ['signature', signatureOf(secret, pairs)]]);
}

/** The parameters that the proxy adds to a request at a time (ms). */
export function proxyPairs({
  shop,
  now,
  customer = '',
}: {
  readonly shop: string;
  readonly now: number;
  readonly customer?: string;
}): Pair[] {
  return [
    ['shop', shop],
    ['logged_in_customer_id', customer],
    ['path_prefix', '/apps/gift-cards'],
    ['timestamp', String(Math.floor(now / 1_000))],
  ];
}
