/** The tools of pages for new versions. */

import type { MachineRule } from '../../../core/stores/domain/machine.ts';
import { ToolKey } from '../../../platform/tools.ts';
import type { Installation } from '../platform/installation.ts';
import type { VersionRule } from '../service/versions.ts';

/** The settings about new versions. */
type VersionTools = {
  /** The people who may decide. */
  readonly machineRule: MachineRule;
  readonly rule: VersionRule;
  readonly installation: Installation;
  /** Reads the list if that is due. A failure is stored, and not thrown. */
  readonly runIfDue: () => Promise<void>;
};

export const versionTool = new ToolKey<VersionTools>('versions');
