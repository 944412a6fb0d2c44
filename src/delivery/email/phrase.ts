/**
 * Phrases: texts of a language with values put in.
 *
 * A placeholder `{store}` stands in the text of a translation only. It is replaced once, by a value that
 * stays apart from the text around it: braces in a value mean nothing, and when the phrase becomes markup
 * or plain text, each value is isolated, so that a name in Hebrew leaves an English sentence in order, and
 * the other way round.
 */

import { html, type Html } from './markup.ts';

/** A value within a phrase: `auto` takes its direction from its own text, `ltr` is read from left to right anywhere. */
export type Value = { readonly value: string; readonly direction: 'auto' | 'ltr' };

export type Phrase = readonly (string | Value)[];

export type Values = Readonly<Record<string, Value>>;

/** A phrase that is one value. */
export function valueOf(value: string, direction: Value['direction'] = 'auto'): Value {
  return { value, direction };
}

/**
 * The phrase of a text. Where a value ends in a full stop ("Flowers & Co."), that of the text is left out.
 * @throws RangeError if the text has a placeholder for which there is no value.
 */
export function phraseOf(text: string, values: Values = {}): Phrase {
  const phrase: (string | Value)[] = [];
  for (const part of text.split(/(\{[a-z]+\})/)) {
    const last = phrase.at(-1);
    if (part.startsWith('{')) {
      const value = values[part.slice(1, -1)];
      if (!value) throw new RangeError(`there is no value for ${part} in "${text}"`);
      phrase.push(value);
    } else if (typeof last === 'object' && last.value.endsWith('.') && part.startsWith('.')) {
      phrase.push(part.slice(1));
    } else {
      phrase.push(part);
    }
  }
  return phrase.filter((part) => part !== '');
}

/** FIRST STRONG ISOLATE, LEFT-TO-RIGHT ISOLATE and POP DIRECTIONAL ISOLATE. */
const isolateStart = { auto: '\u2068', ltr: '\u2066' } as const;
const isolateEnd = '\u2069';

/** A phrase as plain text. `isolating` keeps its values apart by invisible characters, for right-to-left texts. */
export function plainOf(phrase: Phrase, { isolating }: { readonly isolating: boolean }): string {
  return phrase
    .map((part) => {
      if (typeof part === 'string') return part;
      return isolating ? isolateStart[part.direction] + part.value + isolateEnd : part.value;
    })
    .join('');
}

/** A phrase as markup. */
export function htmlOf(phrase: Phrase): Html {
  const parts = phrase.map((part) => {
    if (typeof part === 'string') return html`${part}`;
    return part.direction === 'ltr'
      ? html`<bdi dir="ltr">${part.value}</bdi>`
      : html`<bdi>${part.value}</bdi>`;
  });
  return html`${parts}`;
}
