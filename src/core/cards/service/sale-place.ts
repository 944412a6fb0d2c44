/** The locations of the sales of cards, which their paper shows. */

import type { Location } from '../../stores/domain/location.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { findEmailPlace } from '../../emails/storage/place.ts';

/** The locations by the ids of the cards, of which there are those of a page. A card without one was sold at none. */
export function* findSalePlaces(
  storeId: number,
  cardIds: readonly number[],
): Script<ReadonlyMap<number, Location>> {
  const found = yield* parallel(
    ...cardIds.map((cardId) => findEmailPlace({ storeId, cardId, kind: 'gift_card' }, undefined)),
  );
  return new Map(
    cardIds.flatMap((id, index) => {
      const location = found[index];
      return location ? [[id, location] as const] : [];
    }),
  );
}
