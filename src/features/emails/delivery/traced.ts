/** The spans of an attempt to send an email: one for the message, and one for the mail server. */

import type { ClaimedEmail, EmailSettlement } from '../storage/queue.ts';
import type { Tracing } from '../../../platform/tracing.ts';
import type { EmailOutcome } from './outcome.ts';
import type { EmailTransport } from './transport.ts';

/** @param attempt its result is null if the email was not attempted. */
export function tracedEmail<Attempted extends { readonly result: EmailSettlement | 'held' | null }>(
  tracing: Tracing,
  claimed: ClaimedEmail,
  attempt: () => Promise<Attempted>,
): Promise<Attempted> {
  const message = {
    queue: 'emails' as const,
    stored: claimed.traceContext,
    attributes: { 'largesse.email.kind': claimed.kind, 'largesse.delivery.attempt': claimed.attempts },
    resultOf: ({ result }: Attempted) =>
      result === null || result === 'held' || ['sent', 'kept', 'cancelled'].includes(result.state)
        ? {}
        : { 'error.type': result.state },
  };
  return tracing.delivery(message, attempt);
}

/** The conventions have no span for SMTP: it has the attributes that those of other protocols share. */
export function tracedTransport(transport: EmailTransport, tracing: Tracing): EmailTransport {
  const { server } = transport;
  // A folder is not another server.
  if (!server) return transport;
  const called = {
    name: 'send email',
    attributes: {
      'network.protocol.name': 'smtp',
      'server.address': server.host,
      'server.port': server.port,
    },
    resultOf: (outcome: EmailOutcome) =>
      outcome.kind === 'sent' || outcome.kind === 'kept' ? {} : { 'error.type': errorOf(outcome) },
  };
  // No header of an email continues a trace.
  return { ...transport, send: (...sent) => tracing.call(called, () => transport.send(...sent)) };
}

/** The reply code of the server, or what happened. */
function errorOf(outcome: Exclude<EmailOutcome, { readonly kind: 'sent' | 'kept' }>): string {
  const code = 'code' in outcome ? outcome.code : null;
  return code === null ? outcome.kind : String(code);
}
