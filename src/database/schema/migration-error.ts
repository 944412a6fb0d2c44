/** The database and this version of the program are incompatible. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}
