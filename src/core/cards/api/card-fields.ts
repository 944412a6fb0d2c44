/**
 * Request fields of the details of cards, from their table (`core/cards/domain/fields.ts`): here is what each kind of field is in
 * JSON.
 */

import Type, { type TSchema } from 'typebox';
import { filteredFields, filterLengthMax, readFilter } from '../domain/field-filters.ts';
import { fieldFromText, readField } from '../domain/field-values.ts';
import { byField, cardFields, createdFields, type CardField, type FieldFilter } from '../domain/fields.ts';
import { externalIdPattern } from '../../domain/external-id.ts';
import { dayPattern } from '../../domain/day.ts';
import { tagLengthMax, tagsMax } from '../domain/tags.ts';
import { sentLineLengthMax } from '../../domain/text.ts';
import { field } from '../../../api/field.ts';

/** The schema of a field of each kind, and what follows its description. */
function inJson(row: CardField): { readonly schema: TSchema; readonly rule: string } {
  switch (row.kind) {
    case 'day':
      return { schema: Type.String({ pattern: dayPattern }), rule: '. null: none.' };
    case 'line':
      return {
        schema: Type.String({ maxLength: sentLineLengthMax(row.lengthMax) }),
        rule: `: at most ${row.lengthMax} characters on one line after normalization to NFC and without surrounding spaces, without control, invisible or bidirectional characters. "" and null clear it.`,
      };
    case 'text':
      return {
        schema: Type.String({ maxLength: row.lengthMax }),
        rule: `. Newlines and tabs are the only control characters. "" and null${row.isEditable ? ' clear it' : ': none'}.`,
      };
    case 'id':
      return {
        schema: Type.String({ minLength: 1, maxLength: row.lengthMax, pattern: externalIdPattern }),
        rule: '.',
      };
    case 'choice':
      return { schema: Type.String({ enum: [...row.choices] }), rule: '.' };
    case 'tags':
      return {
        schema: Type.Array(Type.String({ minLength: 1, maxLength: sentLineLengthMax(tagLengthMax) }), {
          maxItems: tagsMax,
        }),
        rule: ': at most 20, each with at most 40 characters on one line, without commas; surrounding spaces do not count. A tag that occurs again is left out; the letters A to Z are compared without regard to case. Replaces all tags of the card; [] and null clear them. In a form, separated by commas.',
      };
  }
}

/** The fields of requests that set the details of a card. */
export const detailFields = byField(createdFields, (name) => {
  const row: CardField = cardFields[name];
  const { schema, rule } = inJson(row);
  return field(
    Type.Union([schema, Type.Null()], {
      description: `${row.about}${row.more ?? ''}${rule}`,
      examples: [row.example],
    }),
    (value) => readField(name, value),
    (text) => fieldFromText(name, text),
  );
});

const filters: Readonly<
  Record<FieldFilter, (words: string, example: string) => { description: string; example: string }>
> = {
  equals: (words, example) => ({ description: `Only cards with this ${words}.`, example }),
  contains: (words, example) => ({
    description: `Only cards whose ${words} contains this text. The letters A to Z are compared without regard to case.`,
    example: example.slice(example.lastIndexOf(' ') + 1),
  }),
};

/** The filters of lists of cards by their details. */
export const detailFilters = byField(filteredFields, (name) => {
  const row = cardFields[name];
  const { description, example } = filters[row.filter](name.replaceAll('_', ' '), row.example);
  return field<string>(
    Type.String({
      minLength: 1,
      maxLength: filterLengthMax(name),
      ...(row.kind === 'id' && { pattern: externalIdPattern }),
      description,
      examples: [example],
    }),
    (value) => readFilter(name, value),
  );
});
