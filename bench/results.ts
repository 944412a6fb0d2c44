/** The results of a run: written as JSON, and read again to be shown or compared. */

import type { OperationName } from './operations.ts';
import type { Latency } from './statistics.ts';
import type { WritesPerOperation } from './writes.ts';

export type EngineName = 'embedded' | 'postgres';

/** One server under one operation, a value for each round. */
export type Rounds = {
  /** Processor time of all threads of the service, or of the baseline. */
  readonly microsPerRequest: readonly number[];
  /** The same of the database server; null: there is none. */
  readonly databaseMicros: readonly number[] | null;
  /** Bytes per request: written by the service, or appended to the log of the database server; null: not measured. */
  readonly writtenBytes: readonly number[] | null;
  readonly requestsPerSecond: readonly number[];
  /** In a closed loop, over all rounds. */
  readonly latency: Latency;
  /** The most resident memory after a round, without mapped files; null: not measured. */
  readonly memoryMb: number | null;
};

export type Measured = {
  readonly operation: OperationName;
  readonly service: Rounds;
  readonly baseline: Pick<Rounds, 'microsPerRequest' | 'requestsPerSecond'>;
};

/** Creations in an open loop. */
export type HalfCapacity = { readonly requestsPerSecond: number; readonly latency: Latency };

/** A load far below the capacity: that of a shop. */
export type SmallLoad = {
  readonly operation: OperationName;
  /** Requests per second in an open loop; null: one caller, who waits for each response. */
  readonly rate: number | null;
  /** Processor time of all threads of the service, including its work between the requests. */
  readonly microsPerRequest: number;
  /** The same of a bare server that inserts a row, commits and syncs; absent: not measured. */
  readonly floorMicros?: number;
  readonly requestsPerSecond: number;
  readonly latency: Latency;
};

/** One database with the service on it. */
export type FixtureResults = {
  readonly engine: EngineName;
  /** Cards before anything was measured. */
  readonly cards: number;
  readonly cardsAtEnd: number;
  readonly fillSeconds: number;
  readonly bytesPerCard: number;
  readonly readyAfterMs: number;
  /** Resident memory of the service without mapped files, in MB. */
  readonly memoryMb: { readonly atRest: number; readonly underLoad: number };
  readonly measured: readonly Measured[];
  /** Null: not measured. */
  readonly halfCapacity: HalfCapacity | null;
  /** Absent or empty: not measured. */
  readonly smallLoads?: readonly SmallLoad[];
  /** Processor time of the service without requests, in % of a core; absent: not measured. */
  readonly idlePercent?: number;
  readonly writes: readonly WritesPerOperation[] | null;
  /** The duration of `largesse verify`. */
  readonly verifySeconds: number;
};

/** Cards that were issued in batches, in an empty database. */
export type Import = {
  readonly engine: EngineName;
  readonly cards: number;
  readonly seconds: number;
  /** Processor time of all threads of the service per card. */
  readonly microsPerCard: number;
  /** The same of the database server; null: there is none. */
  readonly databaseMicros: number | null;
  /** Resident memory at the end, without mapped files. */
  readonly memoryMb: number;
};

/** An operation on cards without the features that other cards of the store use. */
export type UnusedFeatures = {
  readonly engine: EngineName;
  /** Half of these use the features. */
  readonly cards: number;
  /** With `, in the server` if it is the processor time of the database server. */
  readonly operation: string;
  /** Processor time, divided by that in a store without the features, for each pair of rounds. */
  readonly ratios: readonly number[];
};

/** Nothing here names the machine or its owner. */
export type Machine = {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly kernel: string;
  /** Whether the databases were on a tmpfs, where a sync costs nothing. */
  readonly isInMemory: boolean;
  readonly fdatasync: { readonly p50Ms: number; readonly p99Ms: number };
  readonly node: string;
};

/** The measurement of a run. */
export type Run = {
  /** The commit of the service, with `-dirty` if files differ from it. */
  readonly revision: string;
  readonly measuredOn: string;
  readonly minutes: number;
  readonly machine: Machine;
  /** Whether servers and load generator had a core each. */
  readonly isPinned: boolean;
  readonly connections: number;
  readonly rounds: number;
  readonly secondsPerRound: number;
  readonly warmUpRequests: number;
};

/** A service in turn with the baseline. */
export type Results = Run & {
  readonly fixtures: readonly FixtureResults[];
  /** Absent: none was measured. */
  readonly imports?: readonly Import[];
  /** Absent: not measured. */
  readonly unusedFeatures?: readonly UnusedFeatures[];
};

/** Two services in turn, whose rounds are pairs. */
export type Compared = {
  readonly operation: OperationName;
  readonly before: Rounds;
  readonly after: Rounds;
};

export type ComparedFixture = Pick<FixtureResults, 'engine' | 'cards'> & {
  readonly compared: readonly Compared[];
};

export type Comparison = Run & {
  /** The revision that `revision` is compared with. */
  readonly against: string;
  readonly fixtures: readonly ComparedFixture[];
};

/** The results of several runs as those of one. If two runs measured the same, the first counts. */
export function joined([first, ...others]: readonly Results[]): Results {
  if (!first) throw new Error('there is no run');
  const runs = [first, ...others];
  const fixtures = firstOf(
    runs.flatMap((run) => run.fixtures),
    ({ engine, cards }) => `${engine} ${cards}`,
  );
  const imports = firstOf(
    runs.flatMap((run) => run.imports ?? []),
    ({ engine, cards }) => `${engine} ${cards}`,
  );
  const unusedFeatures = firstOf(
    runs.flatMap((run) => run.unusedFeatures ?? []),
    ({ engine, cards, operation }) => `${engine} ${cards} ${operation}`,
  );
  return {
    ...first,
    ...(imports.length > 0 && { imports }),
    ...(unusedFeatures.length > 0 && { unusedFeatures }),
    revision: [...new Set(runs.map(({ revision }) => revision))].join(' and '),
    minutes: runs.reduce((sum, { minutes }) => sum + minutes, 0),
    rounds: Math.min(...runs.map(({ rounds }) => rounds)),
    warmUpRequests: Math.min(...runs.map(({ warmUpRequests }) => warmUpRequests)),
    fixtures: fixtures.toSorted(
      (one, other) => one.engine.localeCompare(other.engine) || one.cards - other.cards,
    ),
  };
}

/** The first item with each name. */
function firstOf<T>(items: readonly T[], nameOf: (item: T) => string): readonly T[] {
  return Array.from(Map.groupBy(items, nameOf).values(), ([first]) => first).filter(
    (item) => item !== undefined,
  );
}
