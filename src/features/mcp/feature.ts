import type { Feature } from '../../feature.ts';
import { addMcpCommand } from './cli/mcp.ts';

export const mcpFeature: Feature = {
  name: 'mcp',
  addCommands: addMcpCommand,
};
