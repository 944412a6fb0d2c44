/**
 * Confirmations of dry runs. Each is a random text that only this process knows. It confirms one exact request and one
 * version of its card, for five minutes, and is valid only once.
 */

import { createHash } from 'node:crypto';
import type { Clock } from '../../../platform/clock.ts';
import type { Random } from '../../../platform/random.ts';

const lifeMs = 5 * 60 * 1_000;
/** After an unknown outcome: as long as the service surely remembers the idempotency key. */
const repeatableMs = 60 * 60 * 1_000;
/** The oldest is dropped when there are more. */
const countMax = 64;

/** A dry run that can be confirmed. */
type Pending = {
  readonly digest: string;
  /** The ETag of the card in the dry run; undefined: the request has no card yet. */
  readonly version: string | undefined;
  readonly expiresAt: number;
};

export type Confirmations = {
  /** The duration for which a new confirmation is valid, in seconds. */
  readonly lifeSeconds: number;
  issue(digest: string, version: string | undefined): string;
  /** Uses a confirmation up. Null: it is not, or no longer, that of a request with this digest. */
  take(confirmation: string, digest: string): Pending | null;
  /** Makes a used confirmation valid again, because the outcome of its request is unknown. */
  putBack(confirmation: string, pending: Pending): void;
};

export function openConfirmations({
  clock,
  random,
}: {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'bytes'>;
}): Confirmations {
  const pendingOf = new Map<string, Pending>();
  const add = (confirmation: string, pending: Pending): void => {
    for (const oldest of pendingOf.keys()) {
      if (pendingOf.size < countMax) break;
      pendingOf.delete(oldest);
    }
    pendingOf.set(confirmation, pending);
  };
  return {
    lifeSeconds: lifeMs / 1_000,
    issue(digest, version) {
      const confirmation = Buffer.from(random.bytes(24)).toString('base64url');
      add(confirmation, { digest, version, expiresAt: clock.now() + lifeMs });
      return confirmation;
    },
    take(confirmation, digest) {
      const pending = pendingOf.get(confirmation);
      if (pending?.digest !== digest) return null;
      pendingOf.delete(confirmation);
      return clock.now() < pending.expiresAt ? pending : null;
    },
    putBack(confirmation, pending) {
      add(confirmation, { ...pending, expiresAt: clock.now() + repeatableMs });
    },
  };
}

/** The digest of a request: of the tool and all arguments, in whatever order they were sent. */
export function requestDigestOf(tool: string, sent: Readonly<Record<string, unknown>>): string {
  const sorted = Object.entries(sent).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([tool, sorted]))
    .digest('base64url');
}
