/** Which SQLite the embedded engine may run on. */

/** Below it, connections that write and move the log into the file at once can corrupt the file (the WAL-reset bug). */
const oldest = [3, 51, 3] as const;

/** @throws Error if the library is too old to be trusted with the file. */
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
