/** The parts that a feature adds to the service and to the command line. `features.ts` lists all features. */

import type { Command } from 'commander';
import type { CommandFrame } from './cli/frame.ts';
import type { FeaturePages } from './pages/kit/server.ts';

export type Feature = {
  /** The name of its folder. */
  readonly name: string;
  readonly addCommands?: (root: Command, frame: CommandFrame) => void;
  /** Is called by a service that has pages. */
  readonly loadPages?: () => Promise<FeaturePages>;
};
