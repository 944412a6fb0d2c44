/**
 * Rate limits: a token bucket a caller, as the generic cell rate algorithm keeps it (one number a
 * caller), told in the headers of draft-ietf-httpapi-ratelimit-headers.
 */

import type { RateLimit } from '../config.ts';

export type RateLimited = {
  readonly allowed: boolean;
  /** Whole seconds until the next request may be made; 0 if one may be made now. */
  readonly retryAfterSeconds: number;
  readonly headers: Readonly<Record<string, string>>;
};

export type RateLimiter = (caller: string, now: number) => RateLimited;

/** @param callersMax how many callers are remembered; beyond, the one longest unseen is forgotten. */
export function rateLimiter({ perSecond, burst }: RateLimit, callersMax: number): RateLimiter {
  const intervalMs = 1_000 / perSecond;
  const capacityMs = burst * intervalMs;
  const policy = `"default";q=${burst};w=${Math.max(1, Math.ceil(capacityMs / 1_000))}`;
  /** Caller → the instant at which their bucket is full again. The map's order is by last use. */
  const fullAt = new Map<string, number>();

  return (caller, now) => {
    const before = Math.max(fullAt.get(caller) ?? now, now);
    const after = before + intervalMs;
    const allowed = after - now <= capacityMs;
    const kept = allowed ? after : before;
    fullAt.delete(caller);
    fullAt.set(caller, kept);
    if (fullAt.size > callersMax) {
      const [longestUnseen] = fullAt.keys();
      if (longestUnseen !== undefined) fullAt.delete(longestUnseen);
    }
    const remaining = Math.max(0, Math.floor((capacityMs - (kept - now)) / intervalMs + 1e-9));
    const nextInSeconds = Math.ceil(Math.max(0, kept + intervalMs - capacityMs - now) / 1_000);
    return {
      allowed,
      retryAfterSeconds: Math.max(1, nextInSeconds),
      headers: {
        'ratelimit-policy': policy,
        ratelimit: `"default";r=${remaining};t=${Math.ceil((kept - now) / 1_000)}`,
      },
    };
  };
}
