/** The service cannot start like this. The message says what to do. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
