/** The mail servers that owners have set: a pool of connections for each store whose emails are being sent. */

import type { OpenedServer } from '../domain/server.ts';
import type { PublicNetwork } from '../../../delivery/public-socket.ts';
import { createPublicMailer } from './smtp.ts';
import { emailMaxMs, type EmailTransport } from './transport.ts';

export type StoreServers = AsyncDisposable & {
  /** The transport of a store. After a change of the server it is a new one, and the earlier one ends. */
  transportOf(storeId: number, server: OpenedServer): EmailTransport;
  /** A transport with connections of its own, for a test. */
  open(server: OpenedServer): EmailTransport;
};

/** Small shops' servers accept few connections of one user. */
export const connectionsOfStoreMax = 2;
/** Stores with open connections. */
const storesMax = 32;

type Opened = { readonly revision: string; readonly transport: EmailTransport };

export function storeServers(network: PublicNetwork): StoreServers {
  /** The store that sent last is the last one. */
  const opened = new Map<number, Opened>();
  const ending = new Set<Promise<void>>();

  const end = ({ transport }: Opened): void => {
    const ended = Promise.resolve(transport[Symbol.asyncDispose]()).finally(() => ending.delete(ended));
    ending.add(ended);
  };

  const open = (server: OpenedServer): EmailTransport => {
    const mailer = createPublicMailer({
      server,
      from: server.sender,
      network,
      connectionsMax: connectionsOfStoreMax,
      timeouts: { emailMs: emailMaxMs },
    });
    return {
      from: server.sender,
      server: mailer.server,
      connectionsMax: connectionsOfStoreMax,
      emailMaxMs,
      send: (email, _delivery, signal) => mailer.send(email, signal),
      [Symbol.asyncDispose]: () => mailer[Symbol.asyncDispose](),
    };
  };

  return {
    open,
    transportOf(storeId, server) {
      const found = opened.get(storeId);
      opened.delete(storeId);
      const isSame = found?.revision === server.revision;
      if (found && !isSame) end(found);
      const used = found && isSame ? found : { revision: server.revision, transport: open(server) };
      opened.set(storeId, used);
      const [oldest] = opened;
      if (opened.size > storesMax && oldest) {
        opened.delete(oldest[0]);
        end(oldest[1]);
      }
      return used.transport;
    },
    async [Symbol.asyncDispose]() {
      for (const each of opened.values()) end(each);
      opened.clear();
      await Promise.all(ending);
    },
  };
}
