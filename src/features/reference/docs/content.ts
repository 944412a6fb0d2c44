/**
 * The content of a page. `html.ts` and `markdown.ts` write it, so the two forms of a page say the same.
 *
 * Texts are Markdown: paragraphs, `##` headings, `-` lists, fenced code, and inline `code`, **bold** and
 * [links](target). The target of a link is a page (`errors`, `errors#not-found`), a path of the service
 * (`/openapi.json`), a heading of the same page (`#scopes`), or an absolute URL.
 */

/** A field of a body, a parameter, a header or an error code. */
export type FieldRow = {
  readonly name: string;
  /** The target of the name's link. */
  readonly target?: string | undefined;
  /** Markdown in one line. */
  readonly type: string;
  readonly presence?: 'required' | 'optional' | undefined;
  /** Markdown in one line. */
  readonly text: string;
  /** The fields of an object or of the objects in a list. */
  readonly rows?: readonly FieldRow[] | undefined;
};

export type PageBlock =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'rows';
      readonly rows: readonly FieldRow[];
      /** The title of rows that are collapsed at first. */
      readonly folded?: string | undefined;
    }
  | {
      readonly kind: 'links';
      readonly links: readonly {
        readonly target: string;
        readonly title: string;
        readonly note: string;
        readonly method?: string | undefined;
      }[];
    }
  | CodeSample
  | CodeSamples;

export type CodeSample = {
  readonly kind: 'sample';
  readonly caption: string;
  readonly language: 'sh' | 'js' | 'php' | 'python' | 'json' | 'text';
  readonly code: string;
};

/** The same in several languages, which are the captions. */
export type CodeSamples = {
  readonly kind: 'samples';
  readonly caption: string;
  readonly samples: readonly CodeSample[];
  /** The request that the page of a sandbox can send; absent: the service is live, or the response does not end. */
  readonly run?: RunnableRequest | undefined;
};

export type RunnableRequest = {
  readonly method: string;
  /** With the base path and the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; null: it has no body. */
  readonly body: string | null;
};

export type ReferencePage = {
  /** The last part of its path; empty for the index. */
  readonly name: string;
  readonly title: string;
  /** One line for `llms.txt`. */
  readonly note: string;
  /** Its group in the navigation. */
  readonly group: string;
  readonly endpoint?: { readonly method: string; readonly path: string } | undefined;
  readonly blocks: readonly PageBlock[];
  /** Requests and responses that are shown next to the text. */
  readonly samples: readonly (CodeSample | CodeSamples)[];
};

export function prose(...paragraphs: readonly (string | false)[]): PageBlock {
  return { kind: 'text', text: paragraphs.filter((one) => one !== false && one !== '').join('\n\n') };
}

/** The place of a document, from which relative URLs start. */
export type Place = { readonly folder: 'root' | 'docs'; readonly extension: '' | '.md' };

/** The relative URL of a link's target, so that pages work at the root and below the base path. */
export function urlOf(target: string, { folder, extension }: Place): string {
  if (target.startsWith('#') || target.startsWith('https://')) return target;
  const [path = '', anchor] = target.split('#');
  const isPage = !path.startsWith('/') || path === '/docs';
  const absolute = path.startsWith('/') ? path : `/docs/${path}`;
  const inDocs = absolute.startsWith('/docs/') ? absolute.slice('/docs/'.length) : `..${absolute}`;
  const relative = folder === 'root' ? absolute.slice(1) : inDocs;
  return `${relative}${isPage ? extension : ''}${anchor === undefined ? '' : `#${anchor}`}`;
}

/** The id of a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}
