/** Sample requests and bodies for the reference page. */
import { joinMarkup, markup } from './markup.ts';
import type { MarkupPart, Markup } from './markup.ts';
import { resolve } from './document.ts';
import type { MediaType, OpenApiDocument, DocumentedOperation } from './document.ts';

interface Figure {
  readonly caption: string;
  readonly body: Markup;
}

const JSON_TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|-?\b\d[\d.eE+-]*\b|\b(?:true|false|null)\b/g;

/** The code samples of an operation and the examples of its successful responses; undefined if it has neither. */
export function renderSamples(document: OpenApiDocument, operation: DocumentedOperation): Markup | undefined {
  const requests = (operation['x-codeSamples'] ?? []).map((sample): Figure => ({
    caption: sample.label ?? sample.lang,
    body: markup`${sample.source.trim()}`,
  }));
  const successes = Object.entries(operation.responses ?? {}).filter(([status]) => status.startsWith('2'));
  const responses = successes.flatMap(([status, response]) => {
    const { content = {} } = resolve(document, response);
    return Object.entries(content).flatMap(([type, media]) =>
      examplesOf(document, media).map(({ label, value }): Figure => ({
        caption: joinWords([`Answer ${status}`, label]),
        body: exampleBody(type, value),
      })),
    );
  });
  if (requests.length + responses.length === 0) return undefined;
  return markup`<aside class="samples" aria-label="Examples">
${renderGroup(requests)}
${renderGroup(responses)}
</aside>`;
}

/** The examples of a body, one figure each; nothing if the document has none. */
export function renderMediaExamples(document: OpenApiDocument, type: string, media: MediaType): Markup {
  const figures = examplesOf(document, media).map(({ label, value }) =>
    renderFigure({ caption: joinWords(['Example', label]), body: exampleBody(type, value) }),
  );
  return joinMarkup(figures, '\n');
}

/** The first figure is open; the others are collapsed below it. */
function renderGroup(figures: readonly Figure[]): Markup {
  const [first, ...others] = figures;
  if (first === undefined) return markup``;
  const folded = others.map(
    ({ caption, body }) =>
      markup`<details class="figure"><summary>${caption}</summary>${renderPre(caption, body)}</details>`,
  );
  return markup`${renderFigure(first)}${folded}`;
}

function renderFigure({ caption, body }: Figure): Markup {
  return markup`<figure><figcaption>${caption}</figcaption>${renderPre(caption, body)}</figure>`;
}

/** A wide sample scrolls horizontally, so it must be focusable. */
function renderPre(caption: string, body: Markup): Markup {
  return markup`<pre tabindex="0" aria-label="${caption}"><code>${body}</code></pre>`;
}

function joinWords(words: readonly (string | undefined)[]): string {
  return words.filter((word) => word !== undefined).join(' · ');
}

function examplesOf(
  document: OpenApiDocument,
  media: MediaType,
): readonly { label: string | undefined; value: unknown }[] {
  const named = Object.entries(media.examples ?? {}).map(([name, example]) => {
    const { summary = name, value } = resolve(document, example);
    return { label: summary, value };
  });
  if (named.length > 0) return named;
  const schema = media.schema === undefined ? {} : resolve(document, media.schema);
  const only = media.example ?? schema.examples?.[0] ?? schema.example;
  return only === undefined ? [] : [{ label: undefined, value: only }];
}

function exampleBody(type: string, value: unknown): Markup {
  const isJson = /[/+]json\b/.test(type);
  return typeof value === 'string' && !isJson ? markup`${value}` : highlight(JSON.stringify(value, null, 2));
}

/** JSON text with markup to colour names, strings and other values. */
function highlight(json: string): Markup {
  const parts: MarkupPart[] = [];
  let end = 0;
  for (const match of json.matchAll(JSON_TOKEN)) {
    parts.push(json.slice(end, match.index));
    end = match.index + match[0].length;
    const [token, text, colon] = match;
    if (text === undefined) parts.push(markup`<span class="v">${token}</span>`);
    else if (colon === undefined) parts.push(markup`<span class="s">${text}</span>`);
    else parts.push(markup`<span class="k">${text}</span>${colon}`);
  }
  return joinMarkup([...parts, json.slice(end)], '');
}
