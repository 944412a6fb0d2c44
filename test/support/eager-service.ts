/**
 * A program that runs the service with frequent background work in small transactions: `node eager-service.ts
 * [limits]`, with the environment of the service. The limits are JSON.
 */

import type { Limits } from '../../src/config.ts';
import { startOn } from './postgres-service.ts';

const service = await startOn(process.env as Record<string, string>, {
  holdExpiryPeriodMs: 50,
  upkeepRowsMax: 20,
  ...(JSON.parse(process.argv[2] ?? '{}') as Partial<Limits>),
});
process.stdout.write(`${JSON.stringify({ url: service.url })} serves\n`);
