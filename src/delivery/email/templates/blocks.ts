/**
 * What mails are made of.
 *
 * A template lists blocks; `html.ts` draws them for clients that show HTML, `plain.ts` writes them for
 * those that show text. So the two parts of a mail say the same, and a template is one page that can be
 * read aloud.
 */

import type { Money } from '../../../domain/money.ts';
import { valueOf, type Phrase, type Value, type Values } from '../phrase.ts';
import type { TextName } from '../texts/en.ts';

export type Block =
  | { readonly block: 'heading'; readonly text: Phrase }
  | { readonly block: 'paragraph'; readonly text: Phrase }
  /** The card, in the store's colour: its title, how its code ends, what is on it, and a line below. */
  | {
      readonly block: 'card';
      readonly title: Phrase;
      /** Null where the whole code is shown. */
      readonly ending: Fact | null;
      readonly label: Phrase;
      readonly amount: Value;
      readonly caption: Phrase | null;
    }
  /** What the buyer wrote, with its line breaks. */
  | { readonly block: 'message'; readonly label: Phrase; readonly message: string }
  /** The code in groups, with its QR code. */
  | {
      readonly block: 'code';
      readonly label: Phrase;
      readonly code: string;
      readonly hint: Phrase;
      readonly image: { readonly cid: string; readonly alt: Phrase; readonly size: number };
    }
  | { readonly block: 'facts'; readonly facts: readonly Fact[] }
  | { readonly block: 'button'; readonly text: Phrase; readonly url: string }
  | { readonly block: 'note'; readonly text: Phrase };

export type Fact = { readonly label: Phrase; readonly value: Phrase };

/** What a template makes of its details. */
export type Content = {
  readonly subject: Phrase;
  /** The line that lists of mails show after the subject. */
  readonly preheader: Phrase;
  readonly blocks: readonly Block[];
};

/** How a template speaks: the texts of a language, and values in its way. `{store}` is known to every text. */
export type Voice = {
  readonly say: (name: TextName, values?: Values) => Phrase;
  readonly amount: (money: Money) => Value;
  readonly day: (day: string) => Value;
};

/** A block, or none where there is nothing to show. */
export function given<T>(value: T | null, block: (value: T) => Block): readonly Block[] {
  return value === null ? [] : [block(value)];
}

/** How a code ends: all that mails without it say of it. */
export function endingOf(lastCharacters: string, { say }: Voice): Fact {
  return { label: say('endingLabel'), value: [valueOf(lastCharacters.toUpperCase(), 'ltr')] };
}

/** A fact, or none where there is nothing to tell. */
export function fact(label: Phrase, value: Value | null): readonly Fact[] {
  return value === null ? [] : [{ label, value: [value] }];
}
