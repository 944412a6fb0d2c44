/**
 * The app proxy: how a storefront hands a request on to an app and vouches for it.
 *
 * Terms: the *proxy parameters* are those that the storefront adds to the query; the *signature*
 * is an HMAC over all the others. The rules are the platform's
 * (https://shopify.dev/docs/apps/build/online-store/app-proxies/authenticate-app-proxies).
 */

/** The parameters that the proxy adds. They may stand on every request. */
export const proxyParameters = [
  'shop',
  'logged_in_customer_id',
  'path_prefix',
  'timestamp',
  'signature',
] as const;

export type QueryParameter = readonly [name: string, value: string];

/** Seconds that a signed request's `timestamp` may differ from now, either way. */
export const signatureAgeMaxSeconds = 90;

/**
 * The text that the signature covers: every parameter but the signature, decoded, sorted by name,
 * `name=value`, put together without a separator; several values of one name joined with a comma.
 * It does not mark where a parameter ends, so a verifier must accept known parameters only, once
 * each and well-formed.
 */
export function signingText(parameters: readonly QueryParameter[]): string {
  const values = new Map<string, string[]>();
  for (const [name, value] of parameters) {
    if (name === 'signature') continue;
    const list = values.get(name);
    if (list) list.push(value);
    else values.set(name, [value]);
  }
  return [...values.keys()]
    .toSorted((left, right) => (left < right ? -1 : 1))
    .map((name) => `${name}=${(values.get(name) ?? []).join(',')}`)
    .join('');
}

const wellFormed = {
  shop: /^[a-z0-9.-]{1,253}$/i,
  logged_in_customer_id: /^(?:[1-9][0-9]{0,15})?$/,
  path_prefix: /^\/[A-Za-z0-9/_-]{0,254}$/,
  timestamp: /^[1-9][0-9]{0,11}$/,
  signature: /^[0-9a-f]{64}$/,
} as const satisfies Record<(typeof proxyParameters)[number], RegExp>;

/** Whether a proxy parameter has the form that the storefront gives it: anything else was moved or made up. */
export function isWellFormed(name: (typeof proxyParameters)[number], value: string): boolean {
  return wellFormed[name].test(value);
}
