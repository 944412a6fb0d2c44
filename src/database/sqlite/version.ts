/** The minimum SQLite version of the embedded engine. */

/** Earlier versions can corrupt the file if connections write and move the log at once (the WAL-reset bug). */
const oldest = [3, 51, 3] as const;

/** @throws Error if the library is too old. */
export function requireSoundSqlite(version: string | undefined): void {
  const [major = 0, minor = 0, patch = 0] = (version ?? '').split('.').map(Number);
  const [oldestMajor, oldestMinor, oldestPatch] = oldest;
  if (major > oldestMajor) return;
  if (major === oldestMajor && minor > oldestMinor) return;
  if (major === oldestMajor && minor === oldestMinor && patch >= oldestPatch) return;
  throw new Error(
    `this Node.js contains SQLite ${version ?? 'of an unknown version'}, which can corrupt the database; SQLite ${oldest.join('.')} or later is required: use a current Node.js 26 from nodejs.org`,
  );
}
