/**
 * Runs suites of the repository on a Citus cluster that it starts:
 * `npx node test/citus/suites.ts test/race/*.test.ts`, with the options of `npm test`.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { relative } from 'node:path';
import { startCluster } from './cluster.ts';

/** Files that a run leaves out, each with the reason. All other tests have to pass. */
const exceptions: Readonly<Record<string, string>> = {
  'test/conformance/postgres-citus.test.ts': 'imitates a cluster on one server',
  'test/conformance/postgres-distribution.test.ts': 'imitates a cluster on one server',
  'test/conformance/postgres-server.test.ts': 'tests the servers that tests start, without the service',
  'test/conformance/postgres-session.test.ts':
    'tests one connection, on a database without tables of the service',
  'test/conformance/postgres-shard-triggers.test.ts': 'imitates a cluster on one server',
  'test/http/doctor.postgres.test.ts': 'expects settings of the server of the tests that lose changes',
};
/** Tests of one server and its standby. Scripts of this folder test the same with servers of a cluster. */
const ownServers = /^test\/failover\/(?!connection\.|sharing\.)/;

function reasonAgainst(file: string): string | undefined {
  if (ownServers.test(file)) return 'starts servers of its own: see kill-workers.ts and standbys.ts';
  return exceptions[file];
}

const files = process.argv.slice(2).map((argument) => relative('', argument));
const leftOut = files.filter((file) => reasonAgainst(file) !== undefined);

/** Few shards, because each test copies the files of all of them. Some tests add triggers to tables. */
await using cluster = await startCluster({
  shards: 4,
  settings: {
    'citus.enable_unsafe_triggers': 'on',
    // A setting of the database, which a copy of it does not have: `largesse migrate --citus` makes it.
    enable_seqscan: 'off',
  },
});
const suites = spawn(
  process.execPath,
  ['test/run.ts', '--engine', 'postgres', ...files.filter((file) => !leftOut.includes(file))],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      TEST_POSTGRES_URL: cluster.coordinator.url(),
      NODE_OPTIONS: `--import=${import.meta.resolve('./patience.ts')}`,
      TEST_CITUS_WORKERS: cluster.workers.map((worker) => worker.url()).join(' '),
    },
  },
);
const [code] = (await once(suites, 'exit')) as [number | null];
for (const [text, count] of cluster.unsupported()) console.log(`${count} × ${text}`);
for (const file of leftOut) console.log(`left out: ${file} ${reasonAgainst(file)}`);
process.exitCode = code ?? 1;
