/**
 * HTML that cannot be forgotten to be escaped.
 *
 * Terms: *Html* is text that is markup already. The `html` tag makes it: what stands in the template is
 * markup, and every value that is put in is escaped, unless it is Html itself. The escaping holds between
 * tags and in quoted attributes, and values stand nowhere else.
 */

/** Markup. Only the `html` tag makes it. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

type HtmlValue = string | number | Html | readonly Html[];

/** Makes Html of a template: its text is markup, its values are escaped text unless they are Html. */
export function html(markup: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(markup.reduce((done, part, index) => done + escaped(values[index - 1] ?? '') + part));
}

function escaped(value: HtmlValue): string {
  if (value instanceof Html) return value.toString();
  if (typeof value === 'object') return value.join('');
  return String(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Text of several lines as Html: line breaks are kept, everything else is text. */
export function linesOf(text: string): readonly Html[] {
  return text.split('\n').map((line, index) => (index === 0 ? html`${line}` : html`<br />${line}`));
}
