/** The mail server of a store: what sends its emails, and who may set it. */

import type { OpenedServer } from '../../emails/domain/server.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  findEmailServer,
  findServerDraft,
  openServer,
  type ServerDraft,
  type StoredServer,
} from '../../emails/storage/server.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';

export { removeServerCode } from '../../emails/storage/server.ts';

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
