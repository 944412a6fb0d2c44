/** Rate limits: one token bucket per caller, reported in the headers of draft-ietf-httpapi-ratelimit-headers. */

import type { RateLimit } from '../platform/limits.ts';
import { Fault } from '../core/domain/fault.ts';
import { addressKey, networkKey } from './client-address.ts';

type RateLimited = {
  readonly allowed: boolean;
  /** Whole seconds after which a rejected request can be retried, at least 1. */
  readonly retryAfterSeconds: number;
  readonly headers: Readonly<Record<string, string>>;
};

/** @param now ms on the monotonic clock: if the system clock were set back, buckets would not refill. */
export type RateLimiter = (caller: string, now: number) => RateLimited;

/** The tokens of a caller at an instant on the monotonic clock (ms). */
type Bucket = { readonly left: number; readonly at: number };

/** The maximum rounding error of a sum of fractions. */
const tolerance = 1e-6;

/** @param callersMax the maximum of remembered callers; above it, the one that was seen least recently is forgotten. */
export function rateLimiter({ perSecond, burst }: RateLimit, callersMax: number): RateLimiter {
  const policy = `"default";q=${burst};w=${Math.max(1, Math.ceil(burst / perSecond))}`;
  /** In the order of last use. */
  const buckets = new Map<string, Bucket>();

  return (caller, now) => {
    const bucket = buckets.get(caller) ?? { left: burst, at: now };
    const refilled = Math.min(burst, bucket.left + (Math.max(0, now - bucket.at) * perSecond) / 1_000);
    const allowed = refilled >= 1 - tolerance;
    const left = allowed ? Math.max(0, refilled - 1) : refilled;
    buckets.delete(caller);
    buckets.set(caller, { left, at: Math.max(now, bucket.at) });
    if (buckets.size > callersMax) {
      const [longestUnseen] = buckets.keys();
      if (longestUnseen !== undefined) buckets.delete(longestUnseen);
    }
    const nextInSeconds = Math.ceil((1 - left) / perSecond - tolerance);
    return {
      allowed,
      retryAfterSeconds: Math.max(1, nextInSeconds),
      headers: {
        'ratelimit-policy': policy,
        ratelimit: `"default";r=${Math.floor(left + tolerance)};t=${Math.ceil((burst - left) / perSecond - tolerance)}`,
      },
    };
  };
}

/** Limits requests without a credential. @throws Fault `too-many-requests`. */
export type VisitorLimiter = (clientAddress: string, now: number) => void;

/** Limits a client, and its network with several times the rate, so that an attacker gains little from more addresses. */
export function visitorLimiter(
  rate: RateLimit,
  { clientsOfNetwork, callersMax }: { readonly clientsOfNetwork: number; readonly callersMax: number },
): VisitorLimiter {
  const ofClient = rateLimiter(rate, callersMax);
  const ofNetwork = rateLimiter(
    { perSecond: rate.perSecond * clientsOfNetwork, burst: rate.burst * clientsOfNetwork },
    callersMax,
  );
  return (clientAddress, now) => {
    const client = ofClient(addressKey(clientAddress), now);
    // A client above its own limit uses up nothing of its neighbors'.
    const limited = client.allowed ? ofNetwork(networkKey(clientAddress), now) : client;
    const { allowed, retryAfterSeconds } = limited;
    if (!allowed) throw new Fault('too-many-requests', { retryAfterSeconds });
  };
}

/** Limits the notifications about a place, such as a store. @throws Fault `too-many-requests`. */
export type HintLimiter = (place: string, clientAddress: string, now: number) => void;

/** Limits the notifications of one network about one place, and about all places, so that strangers use up nothing of the provider. */
export function hintLimiter(
  rate: RateLimit,
  { placesOfNetwork, callersMax }: { readonly placesOfNetwork: number; readonly callersMax: number },
): HintLimiter {
  const ofPlace = rateLimiter(rate, callersMax);
  const ofNetwork = rateLimiter(
    { perSecond: rate.perSecond * placesOfNetwork, burst: rate.burst * placesOfNetwork },
    callersMax,
  );
  return (place, clientAddress, now) => {
    const network = networkKey(clientAddress);
    const all = ofNetwork(network, now);
    // Places can be made up, so a network above its limit adds none.
    const limited = all.allowed ? ofPlace(`${network} ${place}`, now) : all;
    const { allowed, retryAfterSeconds } = limited;
    if (!allowed) throw new Fault('too-many-requests', { retryAfterSeconds });
  };
}
