/**
 * Inputs and texts of the details of cards, from their table (`core/cards/domain/fields.ts`): here is what each kind of field is
 * on a page.
 */

import { designOf, type CardDesign } from '../../../core/cards/domain/design.ts';
import { fieldFromText, readField } from '../../../core/cards/domain/field-values.ts';
import {
  cardFieldNames,
  cardFields,
  type CardField,
  type CardFieldName,
  type FieldKind,
  type FieldsWith,
} from '../../../core/cards/domain/fields.ts';
import { tagsIn } from '../../../core/cards/domain/tags.ts';
import { accepted, type Parsed } from '../../../platform/parsed.ts';
import type { Markup } from '../../../platform/markup.ts';
import { inputField, textArea, type FieldText } from '../../../pages/kit/form.ts';
import { dayText } from '../../../pages/kit/format.ts';
import { fillPlain, type PageLanguage, textsOf, type ByLanguage } from '../../../pages/kit/texts.ts';

type FieldTexts = {
  readonly labels: Readonly<Record<CardFieldName, string>>;
  /** `line`: an error of a line of a file. */
  readonly errors: Readonly<Record<FieldKind, { readonly form: string; readonly line: string }>>;
  readonly choices: Readonly<Record<CardDesign, string>>;
  readonly filter: string;
};

const texts: ByLanguage<FieldTexts> = textsOf('fields');

/** Fields with a place of their own on pages. */
const placed = [
  'expires_on',
  'note',
  'sender_name',
  'recipient_name',
  'tags',
  'message',
  'external_id',
  'design',
] as const;

type OtherField = Exclude<CardFieldName, (typeof placed)[number]>;

function isPlaced(name: CardFieldName): boolean {
  return placed.some((each) => each === name);
}

/** The other fields, which follow in the order of the table. */
export const otherFields = cardFieldNames.filter((name): name is OtherField => !isPlaced(name));

export function fieldLabel(name: CardFieldName, language: PageLanguage): string {
  return texts[language].labels[name];
}

function errorText(name: CardFieldName, place: 'form' | 'line', language: PageLanguage): string {
  const field: CardField = cardFields[name];
  const count = 'lengthMax' in field ? new Intl.NumberFormat(language).format(field.lengthMax) : '';
  const choices = 'choices' in field ? field.choices.join(', ') : '';
  return fillPlain(texts[language].errors[field.kind][place], { count, choices });
}

/** The sentence for a typed value that is not valid. */
export function fieldError(name: CardFieldName, language: PageLanguage): string {
  return errorText(name, 'form', language);
}

/** The sentence for a cell of a file that is not valid. */
export function lineError(name: CardFieldName, language: PageLanguage): string {
  return errorText(name, 'line', language);
}

/** A filter of a list by a field. */
export function fieldFilterText(name: CardFieldName, value: string, language: PageLanguage): string {
  return fillPlain(texts[language].filter, { field: fieldLabel(name, language), value });
}

export function designName(design: CardDesign, language: PageLanguage): string {
  return texts[language].choices[design];
}

type PageKind = {
  readonly input: (text: FieldText & { readonly value: string }) => Markup;
  /** The text of an input for a value. */
  readonly typed: (value: string) => string;
  readonly shown: (value: string, language: PageLanguage) => string;
};

/** Kinds with a plain input. Pictures show the designs (`design.ts`). */
type InputKind = Exclude<FieldKind, 'choice'>;

export type InputField = Exclude<CardFieldName, FieldsWith<{ readonly kind: 'choice' }>>;

const plain = (value: string): string => value;
const line = (text: Parameters<PageKind['input']>[0]): Markup => inputField({ ...text, isOptional: true });

const kinds: Readonly<Record<InputKind, PageKind> & Record<'choice', Omit<PageKind, 'input'>>> = {
  day: {
    input: (text) => inputField({ ...text, type: 'date', isOptional: true }),
    typed: plain,
    shown: dayText,
  },
  line: { input: line, typed: plain, shown: plain },
  text: { input: textArea, typed: plain, shown: plain },
  id: { input: line, typed: plain, shown: plain },
  tags: {
    input: line,
    typed: (value) => tagsIn(value).join(', '),
    shown: (value) => tagsIn(value).join(', '),
  },
  choice: {
    typed: plain,
    shown: (value, language) => designName(designOf(value, 'plain'), language),
  },
};

export function fieldInput(name: InputField, text: Omit<FieldText & { value: string }, 'name'>): Markup {
  return kinds[cardFields[name].kind].input({ ...text, name });
}

/** The text of a field’s input for its value. */
export function typedOf(name: CardFieldName, value: string | null): string {
  return value === null ? '' : kinds[cardFields[name].kind].typed(value);
}

export function shownOf(name: CardFieldName, value: string, language: PageLanguage): string {
  return kinds[cardFields[name].kind].shown(value, language);
}

/** Parses what was typed. A comma at the end of tags is accepted. */
export function readTyped(name: CardFieldName, text: string): Parsed<string | null> {
  if (text === '') return accepted(null);
  const sent = fieldFromText(name, text);
  return readField(name, Array.isArray(sent) ? sent.filter((item) => item !== '') : sent);
}
