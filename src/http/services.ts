/** The parts of the service that the server uses. */

import type { Unreadiness } from './readiness.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Limits, RateLimit } from '../platform/limits.ts';
import type { Retention } from '../core/storage/retention.ts';
import type { Secret } from '../platform/secret.ts';
import type { Context } from '../core/storage/context.ts';
import type { Store } from '../core/stores/domain/store.ts';
import type { Log } from '../platform/log.ts';
import type { Storage } from '../database/storage.ts';
import type { Tools } from '../platform/tools.ts';
import type { Tracing } from '../platform/tracing.ts';
import type { ApiRequest } from '../core/requests/domain/api-request.ts';
import type { Turns } from '../core/service/turns.ts';
import type { DocumentationOf } from './documents.ts';
import type { SendErrorPage } from './error-pages.ts';
import type { Metrics } from './metrics.ts';
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
  /** Records a request to the API of a store, for its developers. */
  readonly noteRequest: (storeId: number, request: ApiRequest) => void;
  readonly log: Pick<Log, 'logger' | 'request'>;
  /** Whether development mode can accept requests without a credential. */
  readonly developmentMode: boolean;
  /** The tools of features for their operations. */
  readonly tools: Tools;
  /** Runs when the service begins to stop. */
  readonly onClose: () => void;
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
  /** Adds the pages for staff, and returns what sends a page for an error elsewhere; null: there are none. */
  readonly addConsole: ((app: FastifyInstance) => SendErrorPage) | null;
  /**
   * The path of the page for staff that a browser at the root is led to; undefined: the host is not that of the pages. Null:
   * there are no pages.
   */
  readonly homePath: ((request: FastifyRequest) => Promise<string | undefined>) | null;
  /** Adds the page of the emails that are kept in development; null: there is none. */
  readonly addKeptEmails: ((app: FastifyInstance, prefix: string) => void) | null;
};
