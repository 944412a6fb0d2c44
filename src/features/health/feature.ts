import type { Feature } from '../../feature.ts';
import { addHealthCommand } from './cli/health.ts';

export const healthFeature: Feature = {
  name: 'health',
  addCommands: addHealthCommand,
};
