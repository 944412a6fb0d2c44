/** A database on the nodes of a Citus cluster. */

import { queryOnce, type PostgresAddress } from './postgres-client.ts';

/**
 * Installs Citus in a database that exists on every node, and adds the workers to it. Nodes connect to each other as
 * these roles, which have the password of the superuser.
 */
export async function joinNodes(
  coordinator: PostgresAddress,
  workers: readonly PostgresAddress[],
  database: string,
  roles: readonly string[] = ['postgres'],
): Promise<void> {
  for (const node of [...workers, coordinator]) {
    const url = node.url(database);
    await queryOnce(url, 'create extension citus');
    for (const role of roles)
      await queryOnce(url, `insert into pg_dist_authinfo (nodeid, rolename, authinfo) values (0, $1, $2)`, [
        role,
        `password=${new URL(url).password}`,
      ]);
  }
  const port = (node: PostgresAddress): number => Number(new URL(node.url()).port);
  const own = coordinator.url(database);
  await queryOnce(own, `select citus_set_coordinator_host('127.0.0.1', $1)`, [port(coordinator)]);
  for (const worker of workers)
    await queryOnce(own, `select citus_add_node('127.0.0.1', $1)`, [port(worker)]);
}
