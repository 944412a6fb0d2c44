/**
 * Event streams: a stream reads events after the last one that it sent. A reconnecting client continues after its last
 * event. The token is checked in the same snapshot as the events, so an event written after its revocation is never sent.
 */

import { ToolKey } from '../../../platform/tools.ts';
import type { Readable } from 'node:stream';
import { eventJson, type WrittenEvent } from '../../../core/events/domain/event.ts';
import type { Context } from '../../../core/storage/context.ts';
import { isStillAllowed } from '../../../core/stores/service/caller.ts';
import { listPublishedEvents } from '../service/event.ts';
import { resolved, parallel } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import type { Caller } from '../../../http/auth.ts';
import { limitedStreams, type StreamsOptions } from '../../../http/streams.ts';

export type EventStreams = {
  /**
   * Opens a stream of the caller's events after the event `after`; null: from the store's first event.
   * If the token, the store or the service has its maximum of streams, the stream is closed whose client has stalled
   * for longest.
   * @throws Fault `overloaded` if every client of those streams is reading.
   */
  open(caller: Caller, after: number | null): Readable;
  /** Ends all streams when the service stops. */
  close(): void;
};

export const eventStreamsTool = new ToolKey<EventStreams>('event streams');

export function eventStreams({
  ctx,
  storage,
  ...options
}: StreamsOptions & { readonly ctx: Pick<Context, 'wallClock'>; readonly storage: Storage }): EventStreams {
  const streams = limitedStreams(options);
  return {
    open({ store, tokenId }, after) {
      let last = after;
      let read: number | null = after;
      return streams.open(
        { storeId: store.id, clientId: tokenId },
        {
          async read(limit) {
            const [isAllowed, events] = await storage.read(() =>
              // One snapshot, so an event that was committed after a revocation is never read without it.
              parallel(
                isStillAllowed(ctx, { storeId: store.id, tokenId }),
                limit > 0 ? listPublishedEvents(store.id, { after: last, limit }) : resolved([]),
              ),
            );
            read = events.at(-1)?.id ?? last;
            const messages = events.map((event) => messageOf(event, store.domain));
            return { isAllowed, messages, hasMore: limit > 0 && events.length === limit };
          },
          sent: () => (last = read),
        },
      );
    },
    close: () => streams.close(),
  };
}

function messageOf(event: WrittenEvent, store: string): string {
  // The JSON has no line breaks, which would end the data field.
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${eventJson(event, store)}\n\n`;
}
