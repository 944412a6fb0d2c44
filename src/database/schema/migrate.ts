/**
 * Migrations: numbered SQL files that bring the schema up to date. The first one is the schema of the first release.
 *
 * `0001_schema.sqlite.sql` applies to SQLite only, `0002_name.sql` to every engine. A released file never
 * changes: the database stores its checksum, which is compared at every start.
 */

import { createHash } from 'node:crypto';
import { programFilesIn, readProgramFile } from '../../platform/program-files.ts';
import { MigrationError } from './migration-error.ts';
import { all, execute, sql, toNumber, type Script } from '../sql/sql.ts';

export type Migration = {
  readonly version: number;
  readonly name: string;
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly checksum: string;
};

export type AppliedMigration = Pick<Migration, 'version' | 'name' | 'checksum'>;

const fileForm = /^(\d{4})_([a-z0-9-]+)(?:\.([a-z]+))?\.sql$/;

export function loadMigrations(engine: 'sqlite' | 'postgres'): readonly Migration[] {
  const folder = 'database/migrations';
  return programFilesIn(folder).flatMap((file) => {
    const [, version, name, onlyFor] = fileForm.exec(file) ?? [];
    if (version === undefined || name === undefined)
      throw new MigrationError(`${file} is not the name of a migration`);
    if (onlyFor !== undefined && onlyFor !== engine) return [];
    const text = readProgramFile(`${folder}/${file}`).toString();
    const checksum = createHash('sha256').update(text).digest('hex');
    return [{ version: Number(version), name, text, checksum }];
  });
}

/** Whether the migrations are those from before the first release, which "largesse copy" converts. */
export function isBeforeRelease(applied: readonly AppliedMigration[]): boolean {
  return applied.some(({ version, name }) => version === 1 && name === 'foundation');
}

/**
 * Returns the migrations that have not been applied, in order.
 * @throws MigrationError if the database is newer than this program or from before the first release, or an applied file
 * was changed.
 */
export function pending(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  if (isBeforeRelease(applied))
    throw new MigrationError(
      'the database is from before the first release: convert it, once, with "largesse copy" into a new database',
    );
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const { version, name, checksum } of applied) {
    const migration = known.get(version);
    if (!migration)
      throw new MigrationError(
        `the database has migration ${version} (${name}), which this version does not know: it is newer`,
      );
    if (migration.checksum !== checksum)
      throw new MigrationError(`migration ${version} (${name}) is not the one that was applied`);
  }
  const versions = new Set(applied.map(({ version }) => version));
  return migrations.filter(({ version }) => !versions.has(version));
}

export const createMigrationsTable = `
  create table if not exists schema_migrations (
    version bigint primary key,
    name text not null,
    checksum text not null,
    applied_at bigint not null
  )`;

type AppliedRow = { readonly version: bigint; readonly name: string; readonly checksum: string };

export function* selectApplied(): Script<readonly AppliedMigration[]> {
  const rows = yield* all(
    sql<AppliedRow>`select version, name, checksum from schema_migrations order by version`,
  );
  return rows.map((row) => ({ ...row, version: toNumber(row.version) }));
}

export function* insertApplied({ version, name, checksum }: Migration, appliedAt: number): Script<void> {
  yield* execute(sql`
    insert into schema_migrations (version, name, checksum, applied_at)
    values (${version}, ${name}, ${checksum}, ${appliedAt})`);
}
