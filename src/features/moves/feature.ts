import type { Feature } from '../../feature.ts';
import { addCopyCommand } from './cli/copy.ts';

export const movesFeature: Feature = {
  name: 'moves',
  addCommands: addCopyCommand,
};
