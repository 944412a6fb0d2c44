/** The results of a run: written as JSON, and read again to be shown or compared. */

import type { OperationName } from './operations.ts';
import type { Latency } from './statistics.ts';
import type { WritesPerOperation } from './writes.ts';

export type EngineName = 'embedded' | 'postgres';

/** One server under one operation, a value for each round. */
type Rounds = {
  /** Processor time of all threads of the server. */
  readonly microsPerRequest: readonly number[];
  readonly requestsPerSecond: readonly number[];
};

export type Measured = {
  readonly operation: OperationName;
  readonly service: Rounds;
  readonly baseline: Rounds;
  /** Processor time of the database server per request; null: there is none. */
  readonly databaseMicros: readonly number[] | null;
  /** Of the service, in a closed loop, over all rounds. */
  readonly latency: Latency;
};

/** Creations in an open loop. */
export type HalfCapacity = { readonly requestsPerSecond: number; readonly latency: Latency };

/** Debits while the processes are limited to a share of a core each, so that no core is full. */
export type Scaling = {
  readonly coreShare: number;
  readonly onePerSecond: readonly number[];
  readonly twoPerSecond: readonly number[];
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
  readonly writes: readonly WritesPerOperation[] | null;
  readonly scaling: Scaling | null;
  /** Of `largesse verify`. */
  readonly verifySeconds: number;
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

export type Results = {
  /** The commit, with `-dirty` if files differ from it. */
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
  readonly fixtures: readonly FixtureResults[];
};

/** The results of several runs as those of one. If two runs measured the same, the first counts. */
export function joined([first, ...others]: readonly Results[]): Results {
  if (!first) throw new Error('there is no run');
  const runs = [first, ...others];
  const fixtures = new Map<string, FixtureResults>();
  for (const fixture of runs.flatMap((run) => run.fixtures)) {
    const name = `${fixture.engine} ${fixture.cards}`;
    if (!fixtures.has(name)) fixtures.set(name, fixture);
  }
  return {
    ...first,
    revision: [...new Set(runs.map(({ revision }) => revision))].join(' and '),
    minutes: runs.reduce((sum, { minutes }) => sum + minutes, 0),
    rounds: Math.min(...runs.map(({ rounds }) => rounds)),
    warmUpRequests: Math.min(...runs.map(({ warmUpRequests }) => warmUpRequests)),
    fixtures: [...fixtures.values()].toSorted(
      (one, other) => one.engine.localeCompare(other.engine) || one.cards - other.cards,
    ),
  };
}
