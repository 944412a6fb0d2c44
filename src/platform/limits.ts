/** The limits of the service. Only the rate limit is a setting. */

/** The fixed limits, timeouts and periods of the service. */
export type Limits = { readonly [Name in keyof typeof limits]: number };

export const limits = Object.freeze({
  bodyBytesMax: 65_536,
  headerBytesMax: 16_384,
  headersMax: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
  /** The period of checks for the two timeouts of a request. */
  connectionsCheckPeriodMs: 1_000,
  /** The longest time without a byte of a response accepted. The time in which a response is computed does not count. */
  stallTimeoutMs: 60_000,
  /** After the response to a request that was not read to its end, the rest is discarded within these limits. */
  drainIdleMs: 1_000,
  drainMaxMs: 10_000,
  drainBytesMax: 16 * 2 ** 20,
  connectionsMax: 4_096,
  /** Connections of one peer address (IPv6: of one /64), unless it is a trusted proxy. */
  connectionsPerPeerMax: 1_024,
  /** When fewer connections than this are free, each new connection closes the one that has been idle for longest. */
  connectionsSpare: 64,
  /** The longest time for a TLS handshake, and the most in progress, of all peers and of one. */
  handshakeTimeoutMs: 10_000,
  handshakesMax: 1_024,
  handshakesPerPeerMax: 256,
  /** The period of reads of the files of a certificate, in case they were replaced. */
  certificateFilesPeriodMs: 60_000,
  /** The longest time for the rest of a request after the service begins to stop. */
  stopReceiveTimeoutMs: 2_000,
  /** The longest time for requests in flight after the service begins to stop. */
  stopTimeoutMs: 25_000,
  scriptsQueuedMax: 4_096,
  scriptsInGroupMax: 256,
  lockWaitMaxMs: 5_000,
  /** With a server: how long a migration tries to lock tables that other processes use. */
  migrationWaitMaxMs: 60_000,
  /** With less free space on the disk of the embedded database, the service is not ready. */
  diskFreeBytesMin: 32 * 2 ** 20,
  /** With a server: how long connecting to one host, waiting for a connection, and a script with its waits can take. */
  connectTimeoutMs: 2_000,
  connectionWaitMaxMs: 3_000,
  scriptMaxMs: 10_000,
  idleTransactionMaxMs: 15_000,
  /** The period of checks which of several hosts accepts writes. */
  primaryCheckPeriodMs: 5_000,
  rateLimitedCallersMax: 20_000,
  /** Requests for pages without a session: of one client (IPv6: one /64), and of a network as of so many clients. */
  visitorRequestsPerSecond: 10,
  visitorRequestsBurst: 100,
  visitorsOfNetwork: 4,
  /**
   * Notifications of payment providers: those of one provider to one store from one network, and how many stores' worth of
   * them a network can send. They are apart from visitors, because a provider sends those of all payments from few addresses.
   */
  hintsPerSecond: 50,
  hintsBurst: 1_000,
  hintedStoresOfNetwork: 4,
  tokensCachedMax: 4_096,
  signedStoresCachedMax: 1_024,
  idempotencyKeysInFlightMax: 8_192,
  /** Reads of lists, counts and reports that wait for their turn. */
  waitingListsMax: 1_024,
  /** The longest time for a report, and the most different ones at the same time. */
  reportMaxMs: 20_000,
  reportsMax: 64,
  /**
   * Passwords and PINs that are hashed at the same time, those of known people that wait and those of strangers, and those
   * of one person, browser, till or network. More would wait longer than a person does.
   */
  hashesAtOnceMax: 2,
  hashesWaitingMax: 50,
  hashesPerClientMax: 10,
  /** The memory of one hash of a password or PIN, in KiB. */
  passwordMemoryKib: 19_456,
  /** Failed searches of one signed-in storefront customer per hour. */
  customerLookupFailuresPerHour: 10,
  lookupCallersCachedMax: 20_000,
  holdExpiryPeriodMs: 10_000,
  /** The period of searches for cards whose expiry must be published. */
  expiryPeriodMs: 60_000,
  eventStreamsMax: 64,
  tokenUsesPeriodMs: 60_000,
  retiredCodesPeriodMs: 1_000,
  /** The period of writes of requests for developers, and the most that wait in memory, of all and of one store. Others are dropped. */
  requestLogPeriodMs: 5_000,
  requestsWaitingMax: 10_000,
  requestsOfStoreWaitingMax: 2_500,
  upkeepPeriodMs: 60_000,
  upkeepRowsMax: 500,
  /** The period of searches for old events and emails, and the rows that one transaction reads. */
  retentionPeriodMs: 60 * 60_000,
  retentionRowsMax: 100,
  /** The period of searches for customers to erase, and the most that are erased before the next one. */
  erasurePeriodMs: 1_000,
  erasuresMax: 100,
  /** The period of searches for batches, the most that are continued, and the most whose codes are erased together. */
  batchPeriodMs: 1_000,
  batchesMax: 100,
  batchesErasedMax: 10,
  /** Files of tables that are read at the same time, each in a thread, and those that wait. */
  tablesAtOnceMax: 2,
  tablesWaitingMax: 50,
  /** The body of a request that creates a batch. */
  batchBodyBytesMax: 4 * 2 ** 20,
  /** The period of searches for days to close, and the entries that one transaction sums. */
  closingPeriodMs: 60_000,
  closingRowsMax: 100,
  /** The period in which one page of cards is verified in the background; five times as long while nothing is committed. */
  verifyingPeriodMs: 5_000,
  /** The period of appends to the logs, and the pause after a failure. */
  logPeriodMs: 1_000,
  logRetryMs: 30_000,
  /** The period of searches for a finished day without a checkpoint. */
  checkpointPeriodMs: 60_000,
  readinessPeriodMs: 1_000,
  /** The period of writes of the time to the database. The next start compares its clock with it. */
  heartbeatPeriodMs: 60_000,
  /** A clock that differs more than this from the expected time has jumped. */
  clockJumpMaxMs: 5 * 60_000,
  /** A clock that has jumped, or is not confirmed at start, must be stable for this time before it is trusted. */
  clockStableMs: 60 * 60_000,
  /** At start: how far the clock can be behind the newest time in the database, and off the server's clock. */
  clockOffsetMaxMs: 60 * 60_000,
  reminderPeriodMs: 5 * 60_000,
  /** The period of checks whether a backup is due. */
  backupPeriodMs: 60_000,
  /** The periods of checks whether the list of versions is to be read, emails to owners wait, and the certificate ends soon. */
  versionsPeriodMs: 60_000,
  noticesPeriodMs: 30_000,
  /** The periods of reading online sales at their providers, and of looking for a provider to compare. */
  onlineSalesPeriodMs: 5_000,
  paymentComparisonPeriodMs: 60_000,
  certificateNoticePeriodMs: 10 * 60_000,
  /** The period of reads of the gauges of the database. */
  examinationPeriodMs: 60_000,
  readinessWaitMaxMs: 2_000,
});

/** In a distributed database these jobs read every shard to find work, so they run less often. */
export const distributedPeriods = Object.freeze({
  erasurePeriodMs: 10_000,
  batchPeriodMs: 10_000,
  logPeriodMs: 5_000,
  onlineSalesPeriodMs: 10_000,
});

export type RateLimit = {
  /** Requests per second that a caller can make continuously. */
  readonly perSecond: number;
  /** Requests that a caller can make at once. */
  readonly burst: number;
};
