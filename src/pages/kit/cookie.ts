/** The cookies of the pages. All are for this host only, and invisible to scripts. */

import type { Context } from '../../core/storage/context.ts';
import type { OpenedSession } from '../../core/staff/service/session.ts';
import type { ConsoleOrigin, ConsoleRequest } from './request.ts';

export type CookieName = 'session' | 'till' | 'known' | 'store' | 'passkey' | 'scanner';

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

/** The cookie of a session, which ends with it. */
export function sessionCookie(
  { ctx, origin }: { readonly ctx: Pick<Context, 'wallClock'>; readonly origin: ConsoleOrigin },
  { session, token }: OpenedSession,
): string {
  const maxAgeSeconds = Math.max(1, Math.ceil((session.expiresAt - ctx.wallClock.latest()) / 1_000));
  return setCookie('session', { value: token.reveal(), maxAgeSeconds }, origin);
}

/** Adds cookies to those that were set before, of which they replace those of the same name. */
export function mergeCookies(before: readonly string[], added: readonly string[]): readonly string[] {
  const names = new Set(added.map(nameOf));
  return [...before.filter((cookie) => !names.has(nameOf(cookie))), ...added];
}

function nameOf(cookie: string): string {
  return cookie.slice(0, cookie.indexOf('='));
}

/** Whether the browser has the cookie of a till, which can be revoked. */
export function hasTillCookie(
  { origin }: { readonly origin: ConsoleOrigin },
  { cookies }: Pick<ConsoleRequest, 'cookies'>,
): boolean {
  return cookies.has(cookieNameOf('till', origin));
}
