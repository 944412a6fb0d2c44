/** The tokens in links to orders. A token is neither stored nor guessable, and contains no code. */

import type { OnlineSale } from '../domain/sale.ts';
import { sameBytes } from '../../../platform/keys.ts';
import type { Context } from '../../../core/storage/context.ts';

const macLength = 16;
const tokenForm = /^([1-9]\d{15})_([\w-]{22})$/;

type Linked = Pick<OnlineSale, 'storeId' | 'id' | 'key'>;

function boundTo({ storeId, id, key }: Linked): string {
  return JSON.stringify(['order', storeId, id, key]);
}

export function saleToken({ keys }: Pick<Context, 'keys'>, sale: Linked): string {
  const mac = keys.digest('order-link', boundTo(sale)).subarray(0, macLength);
  return `${keys.publicIds.of(sale.id)}_${Buffer.from(mac).toString('base64url')}`;
}

/** The id of the sale that a token names; undefined: it is not a token. */
export function saleIdIn({ keys }: Pick<Context, 'keys'>, token: string): number | undefined {
  const [, number = ''] = tokenForm.exec(token) ?? [];
  return keys.publicIds.read(Number(number));
}

/** Whether a token is that of a sale. Any key of the key file can have made it. */
export function isTokenOf({ keys }: Pick<Context, 'keys'>, sale: Linked, token: string): boolean {
  const [, , mac = ''] = tokenForm.exec(token) ?? [];
  const given = Buffer.from(mac, 'base64url');
  return keys
    .digests('order-link', boundTo(sale))
    .some((digest) => sameBytes(digest.subarray(0, macLength), given));
}
