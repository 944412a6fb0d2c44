/** The outcome of an attempt to send an email, as it is recorded. */

import type { Context } from '../../../core/storage/context.ts';
import type { ClaimedEmail, EmailSettlement } from '../storage/queue.ts';
import { emailBackoff, nextAttempt, type Backoff } from '../../../delivery/backoff.ts';
import type { EmailOutcome } from './outcome.ts';

const minute = 60_000;

/** For emails that a server rejects because of the service's settings: the operator gets time to correct them. */
const operatorBackoff: Backoff = Object.freeze({
  stepsMs: [5 * minute, 10 * minute, 20 * minute, 30 * minute],
  windowMs: 14 * 24 * 60 * minute,
});

export function finalSettlement(
  state: 'sent' | 'kept' | 'bounced' | 'dead' | 'cancelled',
  response: string,
): EmailSettlement {
  return { state, response, nextAt: null, startsOver: false };
}

export function settlementOf(ctx: Context, claimed: ClaimedEmail, outcome: EmailOutcome): EmailSettlement {
  const { response } = outcome;
  switch (outcome.kind) {
    case 'sent':
    case 'kept':
      return finalSettlement(outcome.kind, response);
    case 'rejected':
      return finalSettlement('bounced', response);
    case 'unknown':
      return settlementOfRetry(ctx, claimed, { response, backoff: emailBackoff, firstAt: claimed.firstAt });
    case 'deferred': {
      if (outcome.cause === 'temporary')
        return settlementOfRetry(ctx, claimed, { response, backoff: emailBackoff, firstAt: claimed.firstAt });
      // The email is not the cause, so its own 72 hours start later.
      const firstAt = claimed.sendAt;
      return {
        ...settlementOfRetry(ctx, claimed, { response, backoff: operatorBackoff, firstAt }),
        startsOver: true,
      };
    }
  }
}

function settlementOfRetry(
  { clock, random }: Context,
  { attempts }: ClaimedEmail,
  {
    response,
    backoff,
    firstAt,
  }: { readonly response: string; readonly backoff: Backoff; readonly firstAt: number },
): EmailSettlement {
  const [byte = 0] = random.bytes(1);
  const nextAt = nextAttempt(
    backoff,
    { made: attempts, firstAt },
    { now: clock.earliest(), random: byte / 256, retryAfterMs: null },
  );
  return { state: nextAt === null ? 'dead' : 'deferred', response, nextAt, startsOver: false };
}

/** Whether the mail server works. The rejection of one email does not affect the next one. */
export function isHealthy(outcome: EmailOutcome): boolean {
  switch (outcome.kind) {
    case 'sent':
    case 'kept':
    case 'rejected':
      return true;
    case 'unknown':
      return false;
    case 'deferred':
      return outcome.cause === 'temporary' && outcome.code !== null && outcome.code !== serverCloses;
  }
}

/** The server closes the connection (RFC 5321, 3.8). */
const serverCloses = 421;
