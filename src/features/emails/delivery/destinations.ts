/**
 * The destinations of emails. With a mail server of the operator it is the only destination. Otherwise each store with a server of
 * its own is one, so that a server that does not respond does not delay the emails of other stores.
 */

import type { OpenedServer } from '../domain/server.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { EmailKey } from '../../../core/emails/storage/email.ts';
import {
  excludedMax,
  findNextEmailAt,
  findNextOwnEmailAt,
  listDueEmails,
  listDueOwnEmails,
} from '../storage/queue.ts';
import { findEmailServer, openServer } from '../storage/server.ts';
import { resolved, type Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import type { Tracing } from '../../../platform/tracing.ts';
import { workerLimitsOn, type WorkerLimits } from '../../../delivery/worker.ts';
import { connectionsOfStoreMax, type StoreServers } from './store-servers.ts';
import { tracedTransport } from './traced.ts';
import { emailMaxMs, type EmailTransport } from './transport.ts';

export type EmailSenders = {
  /** Sends the emails of stores without a server of their own; null: these emails wait. */
  readonly transport: EmailTransport | null;
  /** Null: stores have no servers of their own. */
  readonly servers: StoreServers | null;
};

/** Stores whose own servers are used at the same time. */
const storesAtOnceMax = 8;

/** Few emails are claimed ahead, so that each starts soon. */
export function emailWorkerLimits(
  { transport, servers }: EmailSenders,
  storage: Pick<Storage, 'isDistributed'>,
): WorkerLimits {
  const limits = workerLimitsOn(storage);
  if (!servers) {
    const connectionsMax = transport?.connectionsMax ?? 1;
    const claimedMax = connectionsMax * 4;
    return {
      ...limits,
      inProgressMax: connectionsMax,
      inProgressPerDestinationMax: connectionsMax,
      prefetchMax: claimedMax,
      waitingMax: claimedMax,
    };
  }
  const inProgressMax = connectionsOfStoreMax * storesAtOnceMax;
  return {
    ...limits,
    inProgressMax,
    // Servers that do not respond leave room for the others.
    inProgressThrottledMax: inProgressMax / 2,
    inProgressPerDestinationMax: connectionsOfStoreMax,
    prefetchMax: connectionsOfStoreMax * 4,
    waitingMax: inProgressMax * 4,
  };
}

type Room = { readonly limit: number; readonly roomOf: (destination: string) => number };

export type EmailDestinations = {
  /** The longest attempt, in ms. */
  readonly emailMaxMs: number;
  destinationOf(storeId: number): string;
  /** Whether an email can be due, according to this process. */
  mayBeDue(now: number): boolean;
  /** Due emails for which there is room, and whether more may be due. */
  listDue(
    now: number,
    room: Room,
  ): Promise<{ readonly emails: readonly EmailKey[]; readonly hasMore: boolean }>;
  /** The store's own server; undefined: it has none. */
  findServer(storeId: number): Script<OpenedServer | undefined>;
  /** Null: the store's emails wait. */
  transportOf(storeId: number, server: OpenedServer | undefined): EmailTransport | null;
};

export function emailDestinations(
  { ctx, storage }: { readonly ctx: Context; readonly storage: Storage },
  { transport, servers }: EmailSenders,
  tracing: Tracing | null,
): EmailDestinations {
  const traced = (each: EmailTransport): EmailTransport => (tracing ? tracedTransport(each, tracing) : each);
  const shared = transport && traced(transport);
  /** When the next email is due. */
  const next = storage.cache<number>({ entriesMax: 1 });
  const findNextAt = shared ? findNextEmailAt : findNextOwnEmailAt;
  /** Stores whose emails this process has claimed. */
  const claimed = new Set<number>();
  const destinationOf = (storeId: number): string => (servers ? `store ${storeId}` : 'mail server');

  /** The stores for which there is no room, so that their emails do not hide those of others. */
  const fullStores = (roomOf: Room['roomOf']): readonly number[] => {
    for (const storeId of claimed) if (roomOf(destinationOf(storeId)) > 0) claimed.delete(storeId);
    return [...claimed].slice(-excludedMax);
  };

  return {
    emailMaxMs: shared?.emailMaxMs ?? emailMaxMs,
    destinationOf,
    mayBeDue: (now) => (next.findOwn('') ?? now) <= now,
    async listDue(now, { limit, roomOf }) {
      const room = servers ? limit : Math.min(limit, roomOf(destinationOf(0)));
      const nextAt = next.find('') ?? (await next.read('', findNextAt));
      if (room <= 0 || nextAt === undefined || nextAt > now) return { emails: [], hasMore: false };
      const full = servers ? fullStores(roomOf) : [];
      const found = await storage.read(() =>
        shared ? listDueEmails(now, room) : listDueOwnEmails(now, { limit: room, without: full }),
      );
      if (!servers) return { emails: found, hasMore: found.length === room };
      const emails = [...Map.groupBy(found, ({ storeId }) => storeId)].flatMap(([storeId, due]) => {
        claimed.add(storeId);
        return due.slice(0, Math.max(0, roomOf(destinationOf(storeId))));
      });
      return { emails, hasMore: found.length === room };
    },
    findServer: servers ? (storeId) => findOpened(ctx, storeId) : () => resolved(undefined),
    transportOf(storeId, server) {
      return servers && server ? traced(servers.transportOf(storeId, server)) : shared;
    },
  };
}

function* findOpened(ctx: Context, storeId: number): Script<OpenedServer | undefined> {
  const stored = yield* findEmailServer(storeId);
  return stored && openServer(ctx, storeId, stored);
}
