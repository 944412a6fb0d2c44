/**
 * Cohorts of random codes. Codes that a process generates in a burst begin with the same random tag, and the first bits
 * of their lookup values are a keyed digest of it (`core/cards/storage/code.ts`). So they share pages of the index, which would
 * otherwise write another page for each code.
 */

import type { Clock } from '../../../platform/clock.ts';
import { randomCode, randomTag } from '../domain/code.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Keys } from '../../../platform/keys.ts';
import type { Random } from '../../../platform/random.ts';

/** About as many codes as one page of the index holds. */
const codesMax = 256;

/** Codes of different seconds share no write, so they do not share a tag either. */
const durationMaxMs = 1_000;

/** With more stores, the oldest cohort ends. */
const cohortsMax = 1_024;

type Cohort = {
  readonly tag: string;
  /** By the monotonic clock, ms. */
  readonly endsAt: number;
  left: number;
  /** The tag's digest under these keys, which each of its codes needs. */
  digest?: { readonly keys: Keys; readonly bytes: Uint8Array };
};

/** The text whose digest is stored: equal tags of two stores have different digests. */
export function tagOfStore(storeId: number, tag: string): string {
  return `${storeId} ${tag}`;
}

/** The current cohort of each store in this process. Without it, the next code starts a new one. */
export class CodeCohorts {
  readonly #cohorts = new Map<number, Cohort>();

  /** Generates a code for a store: 80 random bits, of which codes of one cohort share 20. */
  generate(
    storeId: number,
    { clock, random }: { readonly clock: Pick<Clock, 'monotonic'>; readonly random: Pick<Random, 'bytes'> },
  ): Secret {
    const now = clock.monotonic();
    let cohort = this.#cohorts.get(storeId);
    if (!cohort || cohort.left === 0 || now >= cohort.endsAt) {
      cohort = { tag: randomTag(random.bytes), endsAt: now + durationMaxMs, left: codesMax };
      this.#add(storeId, cohort);
    }
    cohort.left -= 1;
    return randomCode(random.bytes, cohort.tag);
  }

  /** Returns the digest of a tag, under the key in use. */
  digestOf(tag: string, { storeId, keys }: { readonly storeId: number; readonly keys: Keys }): Uint8Array {
    const cohort = this.#cohorts.get(storeId);
    if (cohort?.tag === tag && cohort.digest?.keys === keys) return cohort.digest.bytes;
    const bytes = keys.digest('gift-card-code-tag', tagOfStore(storeId, tag));
    if (cohort?.tag === tag) cohort.digest = { keys, bytes };
    return bytes;
  }

  #add(storeId: number, cohort: Cohort): void {
    // A map lists its keys in the order of their insertion.
    this.#cohorts.delete(storeId);
    const [oldest] = this.#cohorts.keys();
    if (this.#cohorts.size >= cohortsMax && oldest !== undefined) this.#cohorts.delete(oldest);
    this.#cohorts.set(storeId, cohort);
  }
}
