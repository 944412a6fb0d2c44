/** The mail server of a store: what sends its emails, and who may set it. */

import type { OpenedServer } from '../domain/server.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  findEmailServer,
  findServerDraft,
  openServer,
  type ServerDraft,
  type StoredServer,
} from '../storage/server.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { listStaff } from '../../../core/staff/storage/staff.ts';

export { removeServerCode } from '../storage/server.ts';

/** The server that sends, and the one that is being tested; undefined: there is none. */
export type ServersOfStore = {
  readonly verified: StoredServer | undefined;
  readonly draft: ServerDraft | undefined;
};

export function* readEmailServers(storeId: number): Script<ServersOfStore> {
  const [verified, draft] = yield* parallel(findEmailServer(storeId), findServerDraft(storeId));
  return { verified, draft };
}

/** The server that sends a store's emails, with its password; undefined: there is none. */
export function* openEmailServer(ctx: Context, storeId: number): Script<OpenedServer | undefined> {
  const stored = yield* findEmailServer(storeId);
  return stored && openServer(ctx, storeId, stored);
}

/** The addresses of the owners who have joined. */
export function* listOwnerAddresses(store: Store): Script<readonly string[]> {
  const staff = yield* listStaff(store);
  return staff
    .filter(({ role, joinedAt, disabledAt }) => role === 'owner' && joinedAt !== null && disabledAt === null)
    .map(({ email }) => email);
}
