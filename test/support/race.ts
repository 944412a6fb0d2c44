/** Races that run once against one process, and once against two that share a database. */

import test, { after } from 'node:test';
import { createStoreElsewhere } from './second-process.ts';
import { startService, type TestService } from './service.ts';

/** The number of service processes. */
export type Processes = 1 | 2;

export function race(name: string, body: (processes: Processes) => Promise<void>): void {
  test(`${name}, at one process`, () => body(1));
  test(`${name}, at two processes`, () => body(2));
}

const services = new Map<Processes, Promise<TestService>>();
let stores = 0;

/**
 * Creates a store on a service that the races of a file share, and that runs until the file ends. A race that
 * moves the clock, changes a limit or counts all rows of a table needs a separate service.
 */
export async function openRaceStore(
  processes: Processes,
): Promise<{ readonly service: TestService; readonly domain: string }> {
  const starting =
    services.get(processes) ?? startService({ stores: [{ domain: 'first.example' }], processes });
  services.set(processes, starting);
  const service = await starting;
  stores += 1;
  const domain = `race-${stores}.example`;
  await createStoreElsewhere(service, domain);
  return { service, domain };
}

after(async () => {
  for (const starting of services.values()) await (await starting)[Symbol.asyncDispose]();
});
