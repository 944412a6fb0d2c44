/**
 * HTML with automatic escaping: every value in a `markup` template is escaped unless it is `Markup`. A string cannot be
 * declared safe.
 */

/** Finished HTML. Only functions of this file create it. */
class Markup {
  readonly #html: string;

  constructor(html: string) {
    this.#html = html;
  }

  toString(): string {
    return this.#html;
  }
}

export type { Markup };

/** A value in a `markup` template. `undefined` is omitted; an array is joined without separators. */
export type MarkupPart = Markup | string | number | undefined | readonly MarkupPart[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for use between tags and in quoted attributes. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

function written(fragment: MarkupPart): string {
  if (fragment === undefined) return '';
  if (fragment instanceof Markup) return fragment.toString();
  if (typeof fragment === 'string') return escapeHtml(fragment);
  if (typeof fragment === 'number') return String(fragment);
  return fragment.map(written).join('');
}

/** The template tag: ``markup`<p title="${text}">${children}</p>` ``. Attributes must be quoted. */
export function markup(strings: TemplateStringsArray, ...fragments: readonly MarkupPart[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...fragments.map(written)));
}

/** Joins `parts` with `separator`. */
export function joinMarkup(parts: readonly MarkupPart[], separator: MarkupPart): Markup {
  return new Markup(parts.map(written).join(written(separator)));
}

/** Replaces single characters of escaped text by tags. */
export function insertTags(text: Markup, tags: Readonly<Record<string, string>>): Markup {
  return new Markup(
    Object.entries(tags).reduce((done, [character, tag]) => done.replaceAll(character, tag), text.toString()),
  );
}

/** Text of several lines: line breaks become `<br />`. */
export function linesOf(text: string): readonly Markup[] {
  return text.split('\n').map((line, index) => (index === 0 ? markup`${line}` : markup`<br />${line}`));
}

/**
 * Whether a value ends with a full stop, which then replaces that of its sentence: "Flowers & Co.", and amounts such as those in
 * dirhams in Arabic, with a direction mark after it.
 */
export function endsWithStop(value: MarkupPart): boolean {
  let text = value instanceof Markup ? value.toString() : written(value);
  // The end of an element follows its text.
  if (value instanceof Markup)
    while (text.endsWith('>')) text = text.slice(0, Math.max(0, text.lastIndexOf('<')));
  return /\.[\u200e\u200f\u2066-\u2069]{0,4}$/.test(text);
}
