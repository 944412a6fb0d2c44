import type { Feature } from '../../feature.ts';
import { addCheckpointCommands } from './cli/checkpoint.ts';

export const proofsFeature: Feature = {
  name: 'proofs',
  addCommands: addCheckpointCommands,
};
