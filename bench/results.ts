/** What a run of the benchmark finds: written as JSON, and read again to be shown or compared. */

import type { OperationName } from './operations.ts';
import type { Latency } from './statistics.ts';

export type EngineName = 'embedded' | 'postgres';

/** One server, or some that share the requests, under one operation for a while. */
export type Round = Latency & {
  readonly requests: number;
  readonly seconds: number;
  readonly requestsPerSecond: number;
  /** Processor time of the servers, user and system. */
  readonly cpuMicrosPerRequest: number;
  /** How much of a core the servers used: near 1, they were the limit, and not the load generator. */
  readonly coresUsed: number;
  readonly generatorCoresUsed: number;
  /** Processor time of the database server; null where there is none. */
  readonly databaseCpuMicrosPerRequest: number | null;
};

/** An operation in rounds: of the bare server and of the service in turn. */
export type Measured = {
  readonly operation: OperationName;
  /** Processes of the service that share the requests. */
  readonly processes: number;
  readonly ceiling: readonly Round[];
  readonly service: readonly Round[];
  /** Over all rounds of the service. */
  readonly latency: Latency;
  /** Mean number of scripts in one commit; null where nothing is written. */
  readonly commitGroupSize: number | null;
};

/** The rounds of a transaction that `pgbench` runs, measured in turn with those of the operation. */
export type PgbenchMeasured = {
  readonly transaction: 'create' | 'debit';
  readonly clients: number;
  readonly transactionsPerSecond: readonly number[];
};

/** Debits while every process is held to a share of a core, so that neither the server nor the core is the limit. */
export type Scaling = {
  readonly coreShare: number;
  readonly onePerSecond: readonly number[];
  readonly twoPerSecond: readonly number[];
};

/** Resident memory in MB; `anonymousMb` is the part that is not of mapped files. */
export type Memory = { readonly residentMb: number; readonly anonymousMb: number };

export type Loading = {
  /** How the cards came into the database. */
  readonly way: string;
  /** Rows of all tables; null where they were not counted. */
  readonly rows: number | null;
  readonly seconds: number;
};

/** One engine with so many cards. */
export type SiteResults = {
  readonly engine: EngineName;
  /** Cards that were there before anything was measured. */
  readonly cards: number;
  /** Cards when the ledger was verified at last. */
  readonly cardsAtEnd: number;
  readonly loading: Loading;
  readonly bytesPerCard: number;
  readonly readyAfterMs: number;
  readonly memory: { readonly atRest: Memory; readonly peak: Memory };
  readonly measured: readonly Measured[];
  readonly pgbench: readonly PgbenchMeasured[];
  readonly scaling: Scaling | null;
  /** `largesse verify` on what the run left: cards and transfers. */
  readonly verification: { readonly rows: number; readonly seconds: number };
};

/** How fast waiting events are delivered, and what that costs callers. One value a round. */
export type DeliveryResults = {
  readonly events: number;
  readonly receiverAnswersAfterMs: number;
  readonly requestsPerSecond: number;
  readonly deliveriesPerSecond: readonly number[];
  readonly cpuMicrosPerDelivery: readonly number[];
  readonly idleP99Ms: readonly number[];
  readonly deliveringP99Ms: readonly number[];
};

/** Where it was measured: nothing that tells whose machine it is. */
export type Machine = {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly fileSystem: string;
  /** Whether what is written is in memory only, where syncing costs nothing. */
  readonly isInMemory: boolean;
  readonly fdatasync: { readonly p50Ms: number; readonly p99Ms: number };
  readonly node: string;
  /** Null where PostgreSQL was not measured. */
  readonly postgres: string | null;
};

export type Results = {
  /** What was measured, as version control names it. */
  readonly revision: string;
  readonly measuredOn: string;
  readonly minutes: number;
  readonly machine: Machine;
  /** False: servers and load generator competed for the same cores. */
  readonly isPinned: boolean;
  readonly connections: number;
  readonly rounds: number;
  readonly secondsPerRound: number;
  /** From nothing to ready: the database, its schema and its keys are made on the way. */
  readonly startUpMs: readonly number[];
  readonly sites: readonly SiteResults[];
  readonly delivery: DeliveryResults | null;
};

/** By engine, with the fewest cards first. */
export function inOrder(sites: readonly SiteResults[]): readonly SiteResults[] {
  return sites.toSorted((one, other) => one.engine.localeCompare(other.engine) || one.cards - other.cards);
}

/**
 * The results of several runs on one machine as those of one: what only one of them measured, and of what several did
 * the first.
 */
export function joined(runs: readonly Results[]): Results {
  const [first, ...others] = runs;
  if (!first) throw new Error('there is no run');
  const revisions = new Set(runs.map(({ revision }) => revision));
  return { ...others.reduce(join, first), revision: [...revisions].join(' and ') };
}

function join(one: Results, other: Results): Results {
  const isNew = ({ engine, cards }: SiteResults): boolean =>
    !one.sites.some((site) => site.engine === engine && site.cards === cards);
  const { machine } = one;
  return {
    ...one,
    minutes: one.minutes + other.minutes,
    machine: { ...machine, postgres: machine.postgres ?? other.machine.postgres },
    sites: inOrder([...one.sites, ...other.sites.filter(isNew)]),
    delivery: one.delivery ?? other.delivery,
  };
}

/** Value for value of two series of the same rounds. */
function perRound(
  { ceiling, service }: Measured,
  figure: (service: Round, ceiling: Round) => number,
): readonly number[] {
  return service.flatMap((round, index) => {
    const beside = ceiling[index];
    return beside ? [figure(round, beside)] : [];
  });
}

/** The service's rate as a share of the bare server's of the same round. */
export function ratiosOf(measured: Measured): readonly number[] {
  return perRound(measured, (service, ceiling) => service.requestsPerSecond / ceiling.requestsPerSecond);
}

/** The service's processor time per request, in that of the bare server of the same round. */
export function costsOf(measured: Measured): readonly number[] {
  return perRound(measured, (service, ceiling) => service.cpuMicrosPerRequest / ceiling.cpuMicrosPerRequest);
}

/** The database server's processor time per request, in that of the bare server of the same round. */
export function databaseCostsOf(measured: Measured): readonly number[] {
  return perRound(
    measured,
    (service, ceiling) => (service.databaseCpuMicrosPerRequest ?? 0) / ceiling.cpuMicrosPerRequest,
  );
}
