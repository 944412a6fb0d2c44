/** The headings of a file of new gift cards: the names of the fields, and what people write instead in four languages. */

import written from './column-headings.json' with { type: 'json' };
import { newCardFieldNames, type NewCardField } from '../cards/new-card.ts';

/** The headings that people write instead of the name of a field. */
const headings: Readonly<Partial<Record<NewCardField, readonly string[]>>> = written;

/** Columns that the service writes into lists of lines, and that say nothing about a card. */
const ignoredHeadings = 'line, error, Zeile, Fehler, línea, fila, ligne, erreur';

/** The text without accents, case, punctuation and what is in brackets or names a unit: `Betrag (in €)`. */
function normalized(heading: string): string {
  return heading
    .normalize('NFD')
    .replaceAll(/\([^()]{0,40}\)|\[[^[\]]{0,40}\]/g, '')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replace(/ (?:in|en) \S{1,4}$/, '')
    .replaceAll(/[^a-z0-9]/g, '');
}

const fieldsByHeading: ReadonlyMap<string, NewCardField> = new Map(
  newCardFieldNames.flatMap((field) =>
    [field, ...(headings[field] ?? [])]
      .map(normalized)
      .filter((heading) => heading !== '')
      .map((heading) => [heading, field] as const),
  ),
);

const ignored = new Set(ignoredHeadings.split(', ').map(normalized));

/** The field of a heading; null: the column is ignored; undefined: the heading is unknown. */
export function fieldOfHeading(heading: string): NewCardField | null | undefined {
  const name = normalized(heading);
  return ignored.has(name) ? null : fieldsByHeading.get(name);
}
