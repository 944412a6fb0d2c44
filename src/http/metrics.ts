/** Metrics in the Prometheus text format. Labels contain route templates, never ids or amounts. */

import { AggregatorRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { FreeSpace } from '../platform/disk.ts';
import { requestDurations, type RequestDuration } from './request-durations.ts';

export type Metrics = {
  readonly contentType: string;
  readonly render: () => Promise<string>;
  readonly request: (request: RequestDuration) => void;
  /** The number of requests so far. */
  readonly requestCount: () => number;
  readonly committed: (group: { readonly size: number; readonly seconds: number }) => void;
  /** Cards that the background verification has checked. */
  readonly cardsVerified: (cards: number) => void;
  readonly setMismatches: (count: number) => void;
  readonly setPrimaries: (count: number) => void;
  readonly clientError: () => void;
  /** A connection was closed because of a limit. */
  readonly connectionClosed: (reason: string) => void;
  readonly lookupThrottled: () => void;
  /** An attempt to send an email, with its outcome. */
  readonly emailAttempted: (outcome: string, seconds: number) => void;
  readonly emailReclaimed: () => void;
  readonly deliveryAttempted: (outcome: 'delivered' | 'retrying' | 'dead', seconds: number) => void;
  readonly webhookPaused: () => void;
  /** A notification of a payment provider was received. */
  readonly paymentNotified: (provider: string, signature: 'right' | 'wrong' | 'none') => void;
  /** For the gauges of features. */
  readonly registry: Registry;
};

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Ms between two samples of the event loop's delay. At the default of 10, they are most of what an idle service costs. */
const eventLoopMonitoringPrecision = 100;

let sharedRegistry: Registry | undefined;

/**
 * Metrics of Node.js. They observe the process from their first reading until it ends, so a service whose metrics are not
 * read is not woken for them, and services of one process share them.
 */
function processMetrics(): Registry {
  if (!sharedRegistry) {
    sharedRegistry = new Registry();
    collectDefaultMetrics({ register: sharedRegistry, eventLoopMonitoringPrecision });
  }
  return sharedRegistry;
}

/** The metrics of Node.js for other processes, which are collected from the first reading on. */
class ProcessRegistry extends Registry {
  readonly #labels: { readonly process: number };

  constructor(labels: { readonly process: number }) {
    super();
    this.#labels = labels;
  }

  override async getMetricsAsJSON(): ReturnType<Registry['getMetricsAsJSON']> {
    const registry = processMetrics();
    registry.setDefaultLabels(this.#labels);
    const metrics = await registry.getMetricsAsJSON();
    // By default prom-client omits the start of a process. The processes differ in a label, so nothing is added up.
    return metrics.map((metric) => ({ ...metric, aggregator: 'sum' }));
  }
}

/** Lets the process that supervises collect the metrics of this one, with its number as a label. */
function shareMetrics(registry: Registry, labels: { readonly process: number }): void {
  registry.setDefaultLabels(labels);
  AggregatorRegistry.setRegistries([new ProcessRegistry(labels), registry]);
}

export function createMetrics({
  queueDepth,
  clockJumpMs,
  freeSpace,
  certificate,
  isReady,
  processes,
}: {
  readonly queueDepth: () => number;
  readonly clockJumpMs: () => number;
  /** Null if the database is not on a disk of this machine. */
  readonly freeSpace: FreeSpace | null;
  /** The period of the certificate in use, ms since 1970 UTC; null: the service itself does not serve HTTPS. */
  readonly certificate: { readonly period: { readonly from: number; readonly until: number } | null } | null;
  /** Whether `/readyz` responds with 200. */
  readonly isReady: () => Promise<boolean>;
  /** The number of this process, how many there should be, and the metrics of all of them; null: this is the only one. */
  readonly processes: {
    readonly number: number;
    readonly count: () => number;
    readonly metrics: () => Promise<string>;
  } | null;
}): Metrics {
  const registry = new Registry();
  if (processes) shareMetrics(registry, { process: processes.number });
  const registers = [registry];

  let requestCount = 0;
  const countDuration = requestDurations(registry, {
    name: 'http_server_request_duration_seconds',
    help: 'Duration of HTTP requests, by route template.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  });
  const failedChanges = new Counter({
    name: 'largesse_failed_changes_total',
    help: 'Requests that can change something, such as a sale or a redemption, with a server error (5xx) as the response.',
    registers,
  });
  new Gauge({
    name: 'largesse_ready',
    help: '1 if GET /readyz returns 200, otherwise 0.',
    registers,
    async collect() {
      this.set((await isReady()) ? 1 : 0);
    },
  });
  new Gauge({
    name: 'largesse_processes',
    help: 'The processes that the service should have: PROCESSES, or 1 until there is a store.',
    registers,
    collect() {
      this.set(processes?.count() ?? 1);
    },
  });
  const commits = new Histogram({
    name: 'largesse_commit_duration_seconds',
    help: 'Duration of database transactions that write, fsync included. Its count is the number of commits.',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
    registers,
  });
  const groups = new Histogram({
    name: 'largesse_commit_group_size',
    help: 'Scripts that shared one commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers,
  });
  new Gauge({
    name: 'largesse_script_queue_depth',
    help: 'Scripts that are waiting.',
    registers,
    collect() {
      this.set(queueDepth());
    },
  });
  new Gauge({
    name: 'largesse_clock_jump_seconds',
    help: 'How far the system clock is ahead (behind, if negative) of where the monotonic clock expects it, after a jump of more than 5 minutes: background work that erases or expires is paused until it is 0 again.',
    registers,
    collect() {
      this.set(clockJumpMs() / 1_000);
    },
  });
  for (const [name, end] of [['start', 'from'], ['end', 'until']] as const)
    new Gauge({
      name: `largesse_certificate_${name}_timestamp_seconds`,
      help: `The ${name} of the certificate of HTTPS, in seconds since 1970 UTC. 0: there is none yet. NaN: HTTPS is off.`,
      registers,
      collect() {
        this.set(certificate ? (certificate.period?.[end] ?? 0) / 1_000 : Number.NaN);
      },
    }); // prettier-ignore
  if (freeSpace) {
    new Gauge({
      name: 'largesse_database_free_bytes',
      help: 'Free space on the disk of the database file.',
      registers,
      async collect() {
        this.set((await freeSpace()) ?? Number.NaN);
      },
    });
  }
  const cardsVerified = new Counter({
    name: 'largesse_ledger_cards_verified_total',
    help: 'Cards whose balance and chain were verified in the background.',
    registers,
  });
  const mismatches = new Gauge({
    name: 'largesse_ledger_mismatches',
    help: 'Mismatches that the last complete background verification of the ledger found, or the current one if it has found more.',
    registers,
  });
  const primaries = new Gauge({
    name: 'largesse_database_primaries',
    help: 'Servers of DATABASE_URL that accept writes, at the last check of several hosts. More than 1: an old primary must be stopped. 0: DATABASE_URL has one host, or no server accepts writes.',
    registers,
  });
  const failures = new Counter({
    name: 'largesse_client_errors_total',
    help: 'Connections that sent a request that is not valid HTTP.',
    registers,
  });
  const closedConnections = new Counter({
    name: 'largesse_connections_closed_total',
    help: 'Connections closed because of a limit. peer limit: a new connection of a peer that has too many. room: the connection that was idle for longest, to accept a new one.',
    labelNames: ['reason'],
    registers,
  });
  const throttledLookups = new Counter({
    name: 'largesse_lookup_throttled_total',
    help: 'Searches and lookups that were rejected because too many of the caller failed.',
    registers,
  });
  const attempts = new Histogram({
    name: 'largesse_webhook_attempt_duration_seconds',
    help: 'Duration of attempts to deliver an event to a webhook, by the status of the delivery after the attempt.',
    labelNames: ['outcome'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const pauses = new Counter({
    name: 'largesse_webhooks_paused_total',
    help: 'Webhooks that were paused because every delivery failed for 72 hours, or because the receiver responded with 410.',
    registers,
  });
  const notifications = new Counter({
    name: 'largesse_payment_notifications_total',
    help: 'Notifications of payment providers for stores that have the provider, by their signature. none: it has none, or nothing to compare it with.',
    labelNames: ['provider', 'signature'],
    registers,
  });
  const emails = new Histogram({
    name: 'largesse_mail_attempt_duration_seconds',
    help: 'Duration of attempts to send an email, by outcome. unknown: the mail server received the complete email but did not respond, so it can be sent twice.',
    labelNames: ['outcome'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 120],
    registers,
  });
  const emailsReclaimed = new Counter({
    name: 'largesse_emails_reclaimed_total',
    help: 'Emails that were claimed again because a process did not settle them in time. Each can have been sent twice.',
    registers,
  });

  return {
    contentType: registry.contentType,
    render: processes
      ? () => processes.metrics()
      : async () => `${await processMetrics().metrics()}\n${await registry.metrics()}`,
    request(request) {
      requestCount += 1;
      countDuration(request);
      if (request.status >= 500 && !readingMethods.has(request.method)) failedChanges.inc();
    },
    requestCount: () => requestCount,
    committed({ size, seconds }) {
      commits.observe(seconds);
      groups.observe(size);
    },
    cardsVerified: (cards) => cardsVerified.inc(cards),
    setMismatches: (count) => mismatches.set(count),
    setPrimaries: (count) => primaries.set(count),
    clientError: () => failures.inc(),
    connectionClosed: (reason) => closedConnections.inc({ reason }),
    lookupThrottled: () => throttledLookups.inc(),
    emailAttempted: (outcome, seconds) => emails.observe({ outcome }, seconds),
    emailReclaimed: () => emailsReclaimed.inc(),
    deliveryAttempted: (outcome, seconds) => attempts.observe({ outcome }, seconds),
    webhookPaused: () => pauses.inc(),
    paymentNotified: (provider, signature) => notifications.inc({ provider, signature }),
    registry,
  };
}
