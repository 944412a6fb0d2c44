/**
 * HTML with automatic escaping.
 *
 * The `html` tag makes `Html`: the template is markup, and every value is escaped unless it is `Html` itself. The
 * escaping is right between tags and in quoted attributes, and values are used nowhere else.
 */

/** Markup. Only functions of this file create it. */
export class Html {
  readonly #markup: string;

  constructor(text: string) {
    this.#markup = text;
  }

  toString(): string {
    return this.#markup;
  }
}

type HtmlValue = string | number | Html | readonly Html[];

export function html(template: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(template.reduce((done, part, index) => done + escaped(values[index - 1] ?? '') + part));
}

function escaped(value: HtmlValue): string {
  if (value instanceof Html) return value.toString();
  if (typeof value === 'object') return value.join('');
  return String(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Replaces single characters of escaped text by markup. */
export function insertMarkup(text: Html, tags: Readonly<Record<string, string>>): Html {
  return new Html(
    Object.entries(tags).reduce((done, [character, tag]) => done.replaceAll(character, tag), text.toString()),
  );
}

/** Text of several lines: line breaks become `<br />`. */
export function linesOf(text: string): readonly Html[] {
  return text.split('\n').map((line, index) => (index === 0 ? html`${line}` : html`<br />${line}`));
}
