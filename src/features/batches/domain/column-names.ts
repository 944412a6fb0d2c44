/** The headings of a file of new gift cards: the names of the fields, and what people write instead in four languages. */

import written from './column-headings.json' with { type: 'json' };
import { newCardFieldNames, type NewCardField } from '../../../core/cards/domain/new-card.ts';

/** The meaning of a column. The parts of a name are the name of the recipient. Null: the column is not read. */
export type FileColumn = NewCardField | 'first_name' | 'last_name' | null;

export const columnNames = ['first_name', 'last_name', ...newCardFieldNames] as const;

/** The headings that people write instead of the name of a column. */
const headings: Readonly<Partial<Record<(typeof columnNames)[number], readonly string[]>>> = written;

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

const columnsByHeading: ReadonlyMap<string, FileColumn> = new Map(
  columnNames.flatMap((field) =>
    [field, ...(headings[field] ?? [])]
      .map(normalized)
      .filter((heading) => heading !== '')
      .map((heading) => [heading, field] as const),
  ),
);

const ignored = new Set(ignoredHeadings.split(', ').map(normalized));

/** The column of a heading; null: it is not read; undefined: the heading is unknown. */
export function columnOfHeading(heading: string): FileColumn | undefined {
  const name = normalized(heading);
  return ignored.has(name) ? null : columnsByHeading.get(name);
}

const keyLengthMax = 64;

/** The key by which a heading is remembered: the same for other units, case and punctuation. */
export function headingKeyOf(heading: string): string {
  return (normalized(heading) || heading.trim()).slice(0, keyLengthMax);
}
