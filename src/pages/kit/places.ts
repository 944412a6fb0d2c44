/** The locations of a store on pages: those that a person sees, and the choice of one of them. */

import { worksAt, type StaffMember } from '../../core/staff/domain/staff.ts';
import type { Location } from '../../core/stores/domain/location.ts';
import type { Store } from '../../core/stores/domain/store.ts';
import type { Markup } from '../../platform/markup.ts';
import { listAllLocations } from '../../core/stores/service/location.ts';
import type { Script } from '../../database/sql/sql.ts';
import { select } from './form.ts';
import type { StaffRequest } from './route.ts';
import { catalogue } from './texts.ts';

/** The value of the field for what took place at no location. */
export const noLocation = 'none';

type Person = { readonly store: Store; readonly member: StaffMember };

/** The locations that a person sees, also closed ones; most stores have none. */
export function* listPlaces({ store, member }: Person): Script<readonly Location[]> {
  const all = yield* listAllLocations(store.id);
  return all.filter(({ id }) => worksAt(member, id));
}

/** The chosen location; null: no location; undefined: all of them. */
export function chosenPlace(
  asked: string | undefined,
  { member }: Pick<Person, 'member'>,
  locations: readonly Location[],
): number | null | undefined {
  if (asked === noLocation && locations.length > 0 && worksAt(member, null)) return null;
  return locations.find(({ id }) => String(id) === asked)?.id;
}

/** A location in a query. */
export function placeText(location: number | null): string {
  return location === null ? noLocation : String(location);
}

type PlaceChoice = {
  readonly locations: readonly Location[];
  readonly chosen: number | null | undefined;
  readonly name?: string;
  /** Whether no location can be chosen. */
  readonly hasNone?: boolean;
};

/** The choice of a location. A person who sees one location alone has none, and a store without locations has none. */
export function placeField(
  { language, signedIn: { member } }: Pick<StaffRequest, 'language' | 'signedIn'>,
  { locations, chosen, name = 'location', hasNone = worksAt(member, null) }: PlaceChoice,
): Markup | undefined {
  if (locations.length < (worksAt(member, null) ? 1 : 2)) return undefined;
  const text = catalogue[language].reports;
  const options = [
    { value: '', text: text.allLocations },
    ...locations.map((location) => ({ value: String(location.id), text: location.name })),
    ...(hasNone ? [{ value: noLocation, text: text.noLocation }] : []),
  ];
  const value = chosen === undefined ? '' : placeText(chosen);
  return select({ name, label: text.fields.location, options, value });
}
