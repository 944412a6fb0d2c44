/** The paths of the buy page, below the URL of the pages. */

import type { ProviderKind } from './payment.ts';

export function buyPath(domain: string): string {
  return `/buy/${domain}`;
}

/** The page of one sale for its buyer. @param token as `saleToken` returns it. */
export function orderPath(domain: string, token: string): string {
  return `/buy/${domain}/order/${token}`;
}

/** The form, filled in with a sale that was not paid. */
export function filledFormPath(domain: string, token: string): string {
  return `/buy/${domain}?order=${token}`;
}

/** The path that receives the notifications of a provider. @param storeId the public id. */
export function hintPath(kind: ProviderKind, storeId: number): string {
  return `/payments/${kind}/${storeId}`;
}
