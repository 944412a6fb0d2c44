/** The tools of pages for the condition of the machine, and for emails about the service to its owners. */

import type { Store } from '../../../core/stores/domain/store.ts';
import { ToolKey } from '../../../platform/tools.ts';
import type { MachineCondition } from '../domain/health.ts';

export const machineConditionTool = new ToolKey<() => Promise<MachineCondition>>('condition of the machine');

/** An email about the service itself. */
export type ServiceNotice = {
  readonly store: Pick<Store, 'name' | 'domain'>;
  readonly to: string;
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** Shown in large letters; null: none. */
  readonly code: string | null;
  readonly locale: string;
};

/** Sends the enqueued emails to the owners of a store. Returns whether mail servers have accepted all of them. */
export type SendOwnerNotices = (
  store: Store,
  send?: (notice: ServiceNotice) => Promise<boolean>,
) => Promise<boolean>;

export const ownerNoticesTool = new ToolKey<SendOwnerNotices>('owner notices');
