/** What the server uses of the rest of the service. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Config, EmailTransportKind } from '../config.ts';
import type { Context } from '../context.ts';
import type { Store } from '../domain/store.ts';
import type { Log } from '../log.ts';
import type { WebhookUrls } from '../service/webhook.ts';
import type { Storage } from '../storage/storage.ts';
import type { Tracing } from '../tracing.ts';
import type { Turns } from '../turns.ts';
import type { StoredEmails } from './development-emails.ts';
import type { ServedDocumentation } from './documents.ts';
import type { SendErrorPage } from './error-pages.ts';
import type { Metrics } from './metrics.ts';
import type { RecordedRequests } from './recorded-requests.ts';
import type { RetiredCodeUses } from './retired-codes.ts';
import type { Route } from './route.ts';
import type { TokenUses } from './token-last-used.ts';

/** How the service sends email. */
export type EmailServices = {
  readonly transportKind: EmailTransportKind;
  /** Where emails are kept in development, for their page; null: there is no page. */
  readonly kept: StoredEmails | null;
  /** Logs, once for each store, that an issued card is not emailed because the service sends no email. */
  readonly logUnsent: (store: Store) => void;
};

export type Services = {
  readonly operations: readonly Route[];
  /** Generates the API's documentation. Called with the first request for a part of it. */
  readonly loadDocumentation: () => Promise<ServedDocumentation>;
  readonly config: Config;
  readonly ctx: Context;
  readonly storage: Storage;
  readonly metrics: Metrics;
  /** Null: nothing is traced. */
  readonly tracing: Tracing | null;
  readonly tokenUses: TokenUses;
  readonly retiredCodeUses: RetiredCodeUses;
  readonly recordedRequests: RecordedRequests;
  readonly log: Pick<Log, 'logger' | 'request'>;
  /** Whether development mode can accept requests without a credential. */
  readonly developmentMode: boolean;
  readonly webhookUrls: WebhookUrls;
  /** Calls the listener after every commit of this process, until the returned function is called. */
  readonly onCommit: (listener: () => void) => () => void;
  /** Whether the service is stopping. */
  readonly isClosing: () => boolean;
  readonly isReady: () => Promise<boolean>;
  readonly email: EmailServices;
  /** The turns of reads that take some milliseconds: lists, counts and sums. */
  readonly turns: Turns;
  /** Issues the cards of new batches now. */
  readonly startBatches: () => void;
  /** Adds the pages for staff, and returns what sends a page for an error elsewhere; null: there are none. */
  readonly addConsole: ((app: FastifyInstance) => SendErrorPage) | null;
  /**
   * The path of the page for staff that a browser at the root is led to; undefined: the host is not that of the pages. Null:
   * there are no pages.
   */
  readonly homePath: ((request: FastifyRequest) => Promise<string | undefined>) | null;
};
