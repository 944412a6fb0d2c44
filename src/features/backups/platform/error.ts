/** The reasons why a sealed backup cannot be opened. */

export type BackupProblem =
  /** The file is not an age file, or contains something else than a backup. */
  | 'not-a-backup'
  /** The file was encrypted for another recovery sheet. */
  | 'other-key'
  /** The file was changed or cut off. */
  | 'damaged'
  /** It was encrypted for the sheet, but not by a service that has it. */
  | 'forged'
  /** The database is larger than the caller accepts. */
  | 'too-large';

/** Its message is a sentence for operators; pages have a text for each problem. */
export class SealedBackupError extends Error {
  override readonly name = 'SealedBackupError';
  readonly problem: BackupProblem;

  constructor(problem: BackupProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}
