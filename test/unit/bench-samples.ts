/** Results of the benchmark as tests need them: what nobody measured. */

import type { Measured, Results, Round, SiteResults } from '../../bench/results.ts';

export const sampleRound: Round = {
  requests: 1_000,
  seconds: 1,
  requestsPerSecond: 1_000,
  p50Ms: 1,
  p99Ms: 2,
  p999Ms: 3,
  cpuMicrosPerRequest: 10,
  coresUsed: 1,
  generatorCoresUsed: 0.5,
  databaseCpuMicrosPerRequest: null,
};

/** An operation of which each round of the service has the given figures, and each of the ceiling those of the sample. */
export function sampleMeasured(
  operation: Measured['operation'],
  given: { readonly service: readonly Partial<Round>[] } & Partial<Omit<Measured, 'service'>>,
): Measured {
  return {
    operation,
    processes: 1,
    ceiling: given.service.map(() => sampleRound),
    latency: { p50Ms: 1, p99Ms: 2, p999Ms: 3 },
    commitGroupSize: null,
    ...given,
    service: given.service.map((figures) => ({ ...sampleRound, ...figures })),
  };
}

export function sampleSite(given: Partial<SiteResults>): SiteResults {
  return {
    engine: 'embedded',
    cards: 1_000_000,
    cardsAtEnd: 1_000_001,
    loading: { way: 'by hand', rows: null, seconds: 10 },
    bytesPerCard: 1_000,
    readyAfterMs: 500,
    memory: {
      atRest: { residentMb: 200, anonymousMb: 100 },
      peak: { residentMb: 900, anonymousMb: 300 },
    },
    measured: [],
    pgbench: [],
    scaling: null,
    verification: { rows: 2_000_000, seconds: 10 },
    ...given,
  };
}

export function sampleResults(sites: readonly SiteResults[], given: Partial<Results> = {}): Results {
  return {
    revision: 'abcdef0',
    measuredOn: '2026-01-02',
    minutes: 15,
    machine: {
      processor: 'a processor',
      cores: 2,
      memoryGb: 8,
      kernel: 'linux 6.1',
      fileSystem: 'ext4',
      isInMemory: false,
      fdatasync: { p50Ms: 0.2, p99Ms: 1 },
      node: '26.0.0',
      postgres: null,
    },
    isPinned: true,
    connections: 64,
    rounds: 3,
    secondsPerRound: 2,
    startUpMs: [400, 500, 600],
    sites,
    delivery: null,
    ...given,
  };
}
