/**
 * Partitions: tables with a leading `store_id` in every key can be partitioned by a hash of it.
 *
 * A migration marks such a table with the comment `-- by store` after its closing parenthesis.
 */

const marked = /^create table (\w+) \(\n((?:(?!\n\);).)*)\n\); -- by store$/gms;

/** Returns a migration's text with every marked table partitioned; null: the text unchanged. */
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
