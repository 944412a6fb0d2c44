/** The tool of pages for emails to accountants. */

import type { Store } from '../../../core/stores/domain/store.ts';
import { ToolKey } from '../../../platform/tools.ts';

/** Sends the emails to the accountants of a store that wait. */
export const accountantEmailsTool = new ToolKey<(store: Store) => Promise<void>>('emails to accountants');
