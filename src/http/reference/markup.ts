/**
 * HTML that cannot be forgotten to be escaped: whatever is put into a `markup` template is escaped, unless it is
 * itself `Markup`. There is deliberately no way to declare a string as safe.
 */

/** Finished HTML. Only `markup` and `joinMarkup` make it. */
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

/** What a `markup` template takes; `undefined` leaves nothing behind, an array is written without separators. */
export type Fragment = Markup | string | number | undefined | readonly Fragment[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Makes text safe between tags and inside a quoted attribute, single or double. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

function written(fragment: Fragment): string {
  if (fragment === undefined) return '';
  if (fragment instanceof Markup) return fragment.toString();
  if (typeof fragment === 'string') return escapeHtml(fragment);
  if (typeof fragment === 'number') return String(fragment);
  return fragment.map(written).join('');
}

/** The template tag: ``markup`<p title="${text}">${children}</p>` ``. Attributes must be quoted. */
export function markup(strings: TemplateStringsArray, ...fragments: readonly Fragment[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...fragments.map(written)));
}

/** Writes `parts` one after another with `separator` between them; with no parts, nothing. */
export function joinMarkup(parts: readonly Fragment[], separator: Fragment): Markup {
  return new Markup(parts.map(written).join(written(separator)));
}

/**
 * The address as a link's `href`, or undefined where following it could run code (`javascript:`, `data:`): only
 * http, https, mailto and addresses without a scheme pass.
 */
export function linkAddress(address: string): string | undefined {
  // Browsers drop white space and control characters from an address before they look for its scheme.
  if (!/^[\x21-\x7e]+$/.test(address)) return undefined;
  const scheme = /^([^/?#:]*):/.exec(address)?.[1]?.toLowerCase();
  return scheme === undefined || ['http', 'https', 'mailto'].includes(scheme) ? address : undefined;
}

/** An element id made from `parts`: letters, digits, `_` and `-`, so that it needs no escaping in a URL. */
export function anchorOf(...parts: readonly string[]): string {
  return parts.map((part) => part.replace(/[^A-Za-z0-9_]+/g, '-').replace(/^-|-$/g, '')).join('-');
}
