/** The service cannot start. The message says what to do. */
export class StartError extends Error {
  override readonly name = 'StartError';
  /** Whether every start fails until the installation or its configuration changes. */
  readonly isPermanent: boolean;

  constructor(
    message: string,
    { isPermanent = false, cause }: { isPermanent?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.isPermanent = isPermanent;
  }
}
