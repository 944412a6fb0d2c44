/** What is wrong with a run, so that its figures may not be compared. */

import { titleOf } from './tables.ts';
import type { Results, SiteResults } from './results.ts';
import { median } from './statistics.ts';

/** A server that has no more than this of its core was disturbed, or waited for the load generator. */
const coreShareMin = 0.9;
/** A load generator that takes more than this of its core is the limit itself. */
const generatorShareMax = 0.95;

export function warningsOf({ isPinned, machine, sites }: Results): readonly string[] {
  return [
    ...(isPinned ? [] : ['NOT PINNED: servers and load generator compete for the same cores.']),
    ...(machine.isInMemory
      ? ['NOT DURABLE: the databases are in memory, where syncing costs nothing. Set TMPDIR to a folder on a disk.']
      : []),
    ...(isPinned ? sites.flatMap(disturbances) : []),
  ]; // prettier-ignore
}

function disturbances(site: SiteResults): readonly string[] {
  const rounds = site.measured.flatMap(({ ceiling }) => ceiling);
  const server = median(rounds.map(({ coresUsed }) => coresUsed));
  const generator = median(rounds.map(({ generatorCoresUsed }) => generatorCoresUsed));
  // Beside a database server, the bare server and the load generator share one core.
  const busy = site.engine === 'postgres' ? server + generator : server;
  if (busy >= coreShareMin) return [];
  return [
    site.engine === 'embedded' && generator > generatorShareMax
      ? `NO CEILING: the load generator was the limit of the bare server (${titleOf(site)}).`
      : `DISTURBED: the bare server got ${busy.toFixed(2)} of its core, so something else ran (${titleOf(site)}).`,
  ];
}
