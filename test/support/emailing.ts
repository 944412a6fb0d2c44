/** A worker that sends the queued emails of a test's database to a mail server that is a function. */

import { pino } from 'pino';
import type { Email } from '../../src/features/emails/delivery/message.ts';
import type { EmailOutcome } from '../../src/features/emails/delivery/outcome.ts';
import { emailWorkerLimits } from '../../src/features/emails/delivery/destinations.ts';
import { emailQueue } from '../../src/features/emails/delivery/queue.ts';
import type { EmailTransport } from '../../src/features/emails/delivery/transport.ts';
import { startWorker } from '../../src/delivery/worker.ts';
import type { Context } from '../../src/core/storage/context.ts';
import type { Storage } from '../../src/database/storage.ts';

export type Serve = (email: Email, signal: AbortSignal) => EmailOutcome | Promise<EmailOutcome>;

export type TestMailer = {
  /** The emails that the server received, whatever its response. */
  readonly emails: readonly Email[];
  readonly outcomes: readonly string[];
  readonly reclaimed: () => number;
  readonly operatorNeeded: () => readonly string[];
  wake(): void;
  stop(): Promise<void>;
};

export const accepts: EmailOutcome = { kind: 'sent', response: '250 2.0.0 taken' };
export const bounces: EmailOutcome = { kind: 'rejected', response: '550 5.1.1 no such user', code: 550 };
export const defers: EmailOutcome = {
  kind: 'deferred',
  response: '451 4.7.1 later',
  code: 451,
  cause: 'temporary',
};

export function startMailer(
  { ctx, storage }: { readonly ctx: Context; readonly storage: Storage },
  serve: Serve = () => accepts,
): TestMailer {
  const emails: Email[] = [];
  const outcomes: string[] = [];
  const needs: string[] = [];
  let reclaimed = 0;
  const transport: EmailTransport = {
    from: 'gift-cards@largesse.example',
    server: null,
    connectionsMax: 4,
    emailMaxMs: 120_000,
    async send(email, _delivery, signal) {
      emails.push(email);
      return serve(email, signal);
    },
    async [Symbol.asyncDispose]() {
      // Nothing to close.
    },
  };
  const senders = { transport, servers: null };
  const observer = {
    attempted: (outcome: string) => void outcomes.push(outcome),
    reclaimed: () => void (reclaimed += 1),
    operatorNeeded: (response: string) => void needs.push(response),
  };
  const worker = startWorker(
    emailQueue({ ctx, storage, senders, observer, pagesUrl: null }),
    pino({ level: 'silent' }),
    {
      ...emailWorkerLimits(senders, storage),
      pollMs: 20,
      stopMs: 500,
    },
  );
  return {
    emails,
    outcomes,
    reclaimed: () => reclaimed,
    operatorNeeded: () => needs,
    wake: () => worker.wake(),
    stop: () => worker.stop(),
  };
}

/** Returns the code in the email of a gift card, as a point of sale reads it. */
export function codeIn({ content }: Pick<Email, 'content'>): string {
  const [code = ''] = /^[0-9A-Z]{4}(?: [0-9A-Z]{1,4}){1,4}$/m.exec(content.text) ?? [];
  return code.replaceAll(' ', '').toLowerCase();
}
