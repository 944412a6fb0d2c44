/**
 * A program that runs the service with frequent background work in small transactions: `node eager-service.ts
 * [limits]`, with the environment of the service. The limits are JSON.
 */

import { readConfig } from '../../src/start/config.ts';
import type { Limits } from '../../src/platform/limits.ts';
import { start } from '../../src/start/main.ts';

const config = readConfig();
const often = { holdExpiryPeriodMs: 50, upkeepRowsMax: 20 };
const chosen = JSON.parse(process.argv[2] ?? '{}') as Partial<Limits>;
await start({ ...config, limits: { ...config.limits, ...often, ...chosen } });
