/**
 * The embedded engine: the service has core 0, the load generator core 1. The bare server takes the service's place
 * in its rounds.
 */

import { closeSync, copyFileSync, fsyncSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startService } from './processes.ts';
import type { SiteResults } from './results.ts';
import { moveGenerator, serverCore, type Bench } from './rounds.ts';
import { bytesPerCardOf, embeddedAt, measureSite, type Master } from './site.ts';

export async function measureEmbedded(bench: Bench, master: Master): Promise<SiteResults> {
  moveGenerator(bench, 'away from servers');
  const file = join(bench.folder, `embedded-${master.cards}.db`);
  copyDurably(master.file, file);
  const results = await measureSite(bench, {
    engine: 'embedded',
    cards: master.cards,
    loading: master.loading,
    bytesPerCard: bytesPerCardOf(master),
    master,
    environment: embeddedAt({ file, keysFile: master.keysFile }),
    processes: 1,
    shared: [],
    rivalsOf: () => [],
    database: null,
    afterwards: () => Promise.resolve(null),
  });
  rmSync(file);
  return { ...results, pgbench: [] };
}

/** Waits until the copy is on the disk: what is measured next would have to share the disk with it. */
function copyDurably(from: string, to: string): void {
  copyFileSync(from, to);
  const descriptor = openSync(to, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** How long the service takes from nothing to ready, several times, in ms. */
export async function measureStartUps(bench: Bench): Promise<readonly number[]> {
  const durationsMs: number[] = [];
  for (let count = 0; count < bench.plan.startUps; count += 1) {
    const home = join(bench.folder, `start-up-${count}`);
    mkdirSync(home);
    await using service = await startService(
      embeddedAt({ file: join(home, 'largesse.db'), keysFile: join(home, 'keys.json') }),
      { core: serverCore(bench), isProduction: false, log: join(home, 'service.log') },
    );
    durationsMs.push(service.readyAfterMs);
  }
  return durationsMs;
}
