/** The codes of errors: the only part of an error that a store sees, because messages contain addresses. */

/** For example `ECONNRESET`; empty without a code. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** The code for the end of a sentence: a space and the code in brackets; empty without a code. */
export function publicErrorCode(error: unknown): string {
  const code = codeOf(error);
  return code === '' ? '' : ` (${code})`;
}
