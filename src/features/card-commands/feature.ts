import type { Feature } from '../../feature.ts';
import { addCardCommands } from './cli/card.ts';

export const cardCommandsFeature: Feature = {
  name: 'card-commands',
  addCommands: addCardCommands,
};
