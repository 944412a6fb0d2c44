/** The parts of the service that the server uses. */

import type { Unreadiness } from './readiness.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Limits, RateLimit } from '../platform/limits.ts';
import type { Retention } from '../core/storage/retention.ts';
import type { Secret } from '../platform/secret.ts';
import type { Context } from '../core/storage/context.ts';
import type { Store } from '../core/stores/domain/store.ts';
import type { Log } from '../platform/log.ts';
import type { WebhookUrls } from '../features/webhooks/service/webhook.ts';
import type { Storage } from '../database/storage.ts';
import type { Tracing } from '../platform/tracing.ts';
import type { ReportRuns } from '../features/books/service/report-runs.ts';
import type { TestClockRuns } from '../features/sandbox/service/test-clock.ts';
import type { Turns } from '../core/service/turns.ts';
import type { ReadableEmails, StoredEmails } from '../features/emails/http/development-emails.ts';
import type { DocumentationOf } from './documents.ts';
import type { SendErrorPage } from './error-pages.ts';
import type { Metrics } from './metrics.ts';
import type { RecordedRequests } from '../features/developers/http/recorded-requests.ts';
import type { RetiredCodeUses, StockTries } from '../core/cards/http/code-uses.ts';
import type { Route } from './route.ts';
import type { TokenUses } from '../core/stores/http/token-last-used.ts';

/** The transport of emails. */
export type EmailServices = {
  /** The transport of emails of stores without a mail server of their own. */
  readonly transportKind: EmailTransportKind;
  /** Whether emails of a store are sent or kept. A promise only if it is not in memory. */
  readonly canSend: (storeId: number) => boolean | Promise<boolean>;
  /** Whether any store has a mail server of its own that is used. */
  readonly hasOwnServers: () => Promise<boolean>;
  /** The folder of emails in development, for their page; null: there is no page. */
  readonly kept: StoredEmails | null;
  /** Logs, once for each store, that an issued card is not emailed because the service sends no email. */
  readonly logUnsent: (store: Store) => void;
};

/** Emails go through a mail server, to a folder on this machine, or nowhere. */
export type EmailTransportKind = 'smtp' | 'folder' | 'none';

/** The settings of the protocol. */
type HttpConfig = {
  readonly limits: Limits;
  readonly rateLimit: RateLimit | null;
  readonly lookupFailuresPerHour: number;
  readonly visitorLookupFailuresPerHour: number;
  readonly retention: Pick<Retention, 'idempotencyMs'>;
  readonly trustedProxies: readonly string[];
  readonly metricsToken: Secret | null;
  readonly publicUrl: URL | null;
  readonly basePath: string;
  readonly hasConsole: boolean;
};

export type Services = {
  readonly operations: readonly Route[];
  /** Generates the API's documentation. Called with the first request for a part of it. */
  readonly loadDocumentation: () => Promise<DocumentationOf>;
  readonly config: HttpConfig;
  readonly ctx: Context;
  readonly storage: Storage;
  readonly metrics: Metrics;
  /** Null: nothing is traced. */
  readonly tracing: Tracing | null;
  readonly tokenUses: TokenUses;
  readonly retiredCodeUses: RetiredCodeUses;
  readonly stockTries: StockTries;
  readonly recordedRequests: RecordedRequests;
  readonly log: Pick<Log, 'logger' | 'request'>;
  /** Whether development mode can accept requests without a credential. */
  readonly developmentMode: boolean;
  readonly webhookUrls: WebhookUrls;
  /** Calls the listener after every commit of this process, until the returned function is called. */
  readonly onCommit: (listener: () => void) => () => void;
  /** Whether the service is stopping. */
  readonly isClosing: () => boolean;
  readonly unreadiness: () => Promise<Unreadiness | null>;
  /** The header Strict-Transport-Security of responses over HTTPS; null: the service itself does not serve HTTPS. */
  readonly transportSecurity: (() => string) | null;
  readonly email: EmailServices;
  /** The turns of reads that take some milliseconds: lists, counts and sums. */
  readonly turns: Turns;
  readonly reports: ReportRuns;
  /** Advances the clock of a sandbox; null: the service is live, or has not started. */
  readonly testClock: () => TestClockRuns | null;
  /** Issues the cards of new batches, and adds the codes of new stocks, now. */
  readonly startBatches: () => void;
  /** Adds the pages for staff, and returns what sends a page for an error elsewhere; null: there are none. */
  readonly addConsole: ((app: FastifyInstance) => SendErrorPage) | null;
  /**
   * The path of the page for staff that a browser at the root is led to; undefined: the host is not that of the pages. Null:
   * there are no pages.
   */
  readonly homePath: ((request: FastifyRequest) => Promise<string | undefined>) | null;
  /** The kept emails that a local request can read. */
  readonly readableEmails: (request: FastifyRequest) => Promise<ReadableEmails>;
};
