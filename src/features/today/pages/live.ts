/** The changes that open pages show as they happen: server-sent events with rows of the recent activity. */

import { Readable } from 'node:stream';
import { isPermitted, visiblePlaces } from '../../../core/staff/domain/staff.ts';
import { findSignedIn, sessionTokens } from '../../../core/staff/service/session.ts';
import { findRecentActivity } from '../service/activity.ts';
import { parallel, resolved } from '../../../core/service/scripts.ts';
import { activityRows, keyOfActivity, type ActivityRow } from './activity.ts';
import { cookieNameOf } from '../../../pages/kit/cookie.ts';
import { readStoredId } from '../../../pages/kit/ids.ts';
import { noLocation } from '../../../pages/kit/places.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { StaffRequest, StaffRoute } from '../../../pages/kit/route.ts';

/** The parameter of a page without a row. */
export const noRow = 'none';

export const liveRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/live',
    access: 'readCards',
    isAutomatic: true,
    handle(services, request) {
      const stream = request.method === 'HEAD' ? Readable.from([]) : openLive(services, request);
      return Promise.resolve({ status: 200, stream });
    },
  },
];

/**
 * Streams the rows that the page does not have. The session is checked in the same snapshot as the rows. The stream ends
 * when the session ends or the role of its member changes, and it does not extend the session.
 * @throws Fault `overloaded` if there are too many streams.
 */
function openLive({ ctx, storage, live, frame, origin }: ConsoleServices, request: StaffRequest): Readable {
  const { signedIn, language, query, lastEventId, cookies } = request;
  const { store, member, session } = signedIn;
  const token = sessionTokens.parse(cookies.get(cookieNameOf('session', origin)) ?? '');
  const asked = query.get('location');
  // An unknown location, or another person's, shows the person's own.
  const chosen = asked === noLocation ? null : readStoredId(asked);
  // A reconnecting client has received further rows after those of the page.
  const after = lastEventId === '' ? query.get('after') : lastEventId;
  let known: ReadonlySet<string> | undefined;
  let read: ReadonlySet<string> | undefined;
  return live.open(
    { storeId: store.id, clientId: session.staffId },
    {
      async read(limit) {
        const [current, recent] = await storage.read(() =>
          parallel(
            token ? findSignedIn(ctx, token) : resolved(undefined),
            limit > 0 ? findRecentActivity(ctx, store, visiblePlaces(member, chosen)) : resolved(null),
          ),
        );
        const isAllowed =
          current?.session.id === session.id &&
          current.member.role === member.role &&
          isPermitted(current.member, 'readCards');
        if (!isAllowed || !recent) return { isAllowed, messages: [], hasMore: false };
        const keys = recent.activities.map((activity) => keyOfActivity(ctx, activity));
        const before = known ?? knownTo(keys, after);
        const activities = recent.activities.filter((_, place) => !before.has(keys[place] ?? ''));
        const rows = activityRows(
          { ctx, store: current.store, language, basePath: frame.basePath },
          { ...recent, activities },
        );
        read = new Set(keys);
        return { isAllowed, messages: rows.toReversed().map(messageOf), hasMore: false };
      },
      sent: () => (known = read ?? known),
    },
  );
}

/** The rows that a page has whose newest is `after`; all of them without one. */
function knownTo(keys: readonly string[], after: string | undefined): ReadonlySet<string> {
  if (after === undefined) return new Set(keys);
  const place = keys.indexOf(after);
  return new Set(place < 0 ? [] : keys.slice(place));
}

function messageOf({ key, row, text }: ActivityRow): string {
  // The JSON has no line breaks, which would end the data field.
  return `id: ${key}\nevent: activity\ndata: ${JSON.stringify({ key, row: String(row), text })}\n\n`;
}
