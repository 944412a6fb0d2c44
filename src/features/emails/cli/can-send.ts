/** Whether the service would send the emails of a store, for commands that create cards. */

import { readMachineRule, sendsEmail } from '../../../start/config.ts';
import { findEmailServer } from '../storage/server.ts';
import type { Storage } from '../../../database/storage.ts';

export async function canSendEmails(storage: Storage, storeId: number): Promise<boolean> {
  if (sendsEmail()) return true;
  if (readMachineRule() === 'operator') return false;
  return (await storage.read(() => findEmailServer(storeId))) !== undefined;
}
