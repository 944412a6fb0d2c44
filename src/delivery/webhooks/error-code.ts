/** The codes of errors: all of an error that a store is told, because messages name addresses. */

/** `ECONNRESET`, say; empty if the error has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** The code as it stands at the end of a sentence, after a space and in brackets; empty if there is none. */
export function toldCode(error: unknown): string {
  const code = codeOf(error);
  return code === '' ? '' : ` (${code})`;
}
