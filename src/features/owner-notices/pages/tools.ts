/** The tool of pages for emails about the service to its owners. */

import type { ServiceNotice } from '../../emails/pages/server-tool.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { ToolKey } from '../../../platform/tools.ts';

/** Sends the enqueued emails to the owners of a store. Returns whether mail servers have accepted all of them. */
export type SendOwnerNotices = (
  store: Store,
  send?: (notice: ServiceNotice) => Promise<boolean>,
) => Promise<boolean>;

export const ownerNoticesTool = new ToolKey<SendOwnerNotices>('owner notices');
