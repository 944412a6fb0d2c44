/**
 * Partitions: each table of what belongs to a store can be divided by a hash of the store's id, because
 * `store_id` leads all of its keys.
 *
 * A migration marks such a table with `-- by store` behind its last parenthesis, which is a comment to
 * everybody else.
 */

const marked = /^create table (\w+) \(\n((?:(?!\n\);).)*)\n\); -- by store$/gms;

/** A migration's text, with every table that it marks divided into so many parts; as it is, if null. */
export function inPartitions(migration: string, partitions: number | null): string {
  if (partitions === null) return migration;
  return migration.replaceAll(marked, (_, table: string, columns: string) => {
    const parts = Array.from(
      { length: partitions },
      (_part, place) =>
        `create table ${table}_${place} partition of ${table}\n` +
        `  for values with (modulus ${partitions}, remainder ${place});`,
    );
    return [`create table ${table} (\n${columns}\n) partition by hash (store_id);`, ...parts].join('\n');
  });
}
