/**
 * The app proxy: a storefront forwards a request, and adds *proxy parameters* to its query. One of them, the *signature*,
 * is an HMAC over all other parameters
 * (https://shopify.dev/docs/apps/build/online-store/app-proxies/authenticate-app-proxies).
 */

/** The parameters that the proxy adds. Every request can contain them. */
export const proxyParameters = [
  'shop',
  'logged_in_customer_id',
  'path_prefix',
  'timestamp',
  'signature',
] as const;

export type QueryParameter = readonly [name: string, value: string];

/** Characters of a secret of an app proxy. */
export const proxySecretLengths = { min: 4, max: 500 } as const;

/** Seconds that a signed request's `timestamp` can be in the past or in the future. */
export const signatureAgeMaxSeconds = 90;

/**
 * Returns the text that the signature covers: all other parameters, decoded, sorted by name, as `name=value` without
 * separators. Values of one name are joined with a comma. The text does not show where a parameter ends, so a verifier
 * must accept only known, well-formed parameters, once each.
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

/** Whether a proxy parameter has the form that the storefront generates. Any other form is forged. */
export function isWellFormed(name: (typeof proxyParameters)[number], value: string): boolean {
  return wellFormed[name].test(value);
}
