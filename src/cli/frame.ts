import type { Environment } from '../start/settings-reader.ts';

/** The part of the command line that the commands of features can use. */
export type CommandFrame = {
  /** Serves until the process is stopped. */
  readonly serve: (environment: Environment) => Promise<void>;
};
