/**
 * Starts a Citus cluster with an empty database and keeps it until it is ended with Ctrl+C or SIGTERM:
 * `npx node test/citus/start.ts`
 */

import { once } from 'node:events';
import { createDatabase, startCluster, urlOf } from './cluster.ts';

await using cluster = await startCluster();
const url = await createDatabase(cluster, 'largesse');
console.log(`coordinator: ${url}`);
for (const worker of cluster.workers) console.log(`worker: ${urlOf(worker, 'largesse')}`);
console.log(`logs: ${[cluster.coordinator, ...cluster.workers].map(({ folder }) => folder).join(' ')}`);
// Without this, nothing keeps the process from ending.
const timer = setInterval(() => {}, 60_000);
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
clearInterval(timer);
