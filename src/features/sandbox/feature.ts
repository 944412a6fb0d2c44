import type { Feature } from '../../feature.ts';
import { addSandboxCommand } from './cli/sandbox.ts';
import { addDemoCommands } from './cli/demo.ts';

export const sandboxFeature: Feature = {
  name: 'sandbox',
  addCommands(root, frame) {
    addSandboxCommand(root, frame);
    addDemoCommands(root);
  },
};
