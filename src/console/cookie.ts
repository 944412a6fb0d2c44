/** The cookies of the pages. All are for this host only, and invisible to scripts. */

import type { ConsoleOrigin } from './request.ts';

export type CookieName = 'session' | 'till' | 'known' | 'passkey';

/**
 * The name of a cookie as it is sent. With `__Host-`, a browser accepts it only over HTTPS and only from this host. Safari
 * does not accept such a cookie from `http://localhost`.
 */
export function cookieNameOf(name: CookieName, { url }: ConsoleOrigin): string {
  return url?.protocol === 'https:' ? `__Host-largesse-${name}` : `largesse-${name}`;
}

/** A Set-Cookie header. @param maxAgeSeconds 0 deletes the cookie. */
export function setCookie(
  name: CookieName,
  { value, maxAgeSeconds }: { readonly value: string; readonly maxAgeSeconds: number },
  origin: ConsoleOrigin,
): string {
  const secure = origin.url?.protocol === 'https:' ? '; Secure' : '';
  // `__Host-` requires the path `/`.
  return `${cookieNameOf(name, origin)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`;
}
