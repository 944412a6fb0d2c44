/**
 * A program that runs the service with background work that comes round often, in small transactions:
 * `node eager-service.ts`, with the service's environment.
 */

import { startOn } from './postgres-service.ts';

const service = await startOn(process.env as Record<string, string>, {
  holdExpiryPeriodMs: 50,
  upkeepRowsMax: 20,
});
process.stdout.write(`${JSON.stringify({ url: service.url })} serves\n`);
