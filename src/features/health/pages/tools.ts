/** The tool of pages for the condition of the machine. */

import { ToolKey } from '../../../platform/tools.ts';
import type { MachineCondition } from '../domain/health.ts';

export const machineConditionTool = new ToolKey<() => Promise<MachineCondition>>('condition of the machine');
