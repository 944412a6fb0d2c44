/**
 * Compares the rules of the imitation with Citus: `npx node test/citus/rules.ts`
 *
 * The test of the imitation runs the same cases on a server without Citus.
 */

import assert from 'node:assert/strict';
import pg from 'pg';
import { citusRules, messageOf } from '../support/citus-rules.ts';
import { createDatabase, startCluster } from './cluster.ts';
import { report } from './shops.ts';

await using cluster = await startCluster({ shards: 2 });
const client = new pg.Client({ connectionString: await createDatabase(cluster, 'largesse') });
await client.connect();
try {
  for (const rule of citusRules)
    assert.equal(await messageOf(rule, (text) => client.query(text)), rule.error, rule.name);
} finally {
  await client.end();
}
report(`Citus and the imitation agree on ${citusRules.length} rules`);
