/**
 * The API reference as one HTML page, generated from the OpenAPI document.
 *
 * The page has no scripts and loads nothing from other hosts. It is served at `{base}/docs`, its style sheet at
 * `{base}/docs/reference.css`, under the policy `default-src 'none'; style-src 'self'`. All its URLs are relative, so
 * it works under any base path.
 */
import { headingsOf, renderInline, renderMarkdown } from './markdown.ts';
import { anchorOf, joinMarkup, linkAddress, markup } from './markup.ts';
import type { MarkupPart, Markup } from './markup.ts';
import { METHODS, resolve } from './document.ts';
import type { FaultEntry, OpenApiDocument, PathItem, Schema, Server } from './document.ts';
import { methodBadge, problemAnchor, problemCode, renderOperation } from './operation.ts';
import type { PlacedOperation } from './operation.ts';
import { renderFields } from './fields.ts';
import type { Direction } from './fields.ts';
import { hasFields, objectAnchor } from './schema.ts';
import { renderScheme, schemeAnchor } from './security.ts';
import { referenceStyle } from './style.ts';

export type { OpenApiDocument } from './document.ts';

/** A section of the page, and its line in the contents. */
interface Section {
  readonly anchor: string;
  readonly title: string;
  /** Replaces the title in the heading of the second level. */
  readonly heading?: Markup;
  readonly body: Markup;
  readonly entries: readonly Markup[];
}

/**
 * Renders the page as an HTML document, and its style sheet. Pure: equal documents give equal pages.
 * @throws Error with the reference if a `$ref` cannot be resolved.
 */
export function renderReference(document: OpenApiDocument): { html: string; css: string } {
  const sections = [
    introduction(document),
    authentication(document),
    ...operationGroups(document),
    webhooks(document),
    problems(document['x-faults'] ?? []),
    objects(document),
  ].filter((section) => section !== undefined);
  return { html: page(document, sections).toString(), css: referenceStyle };
}

function page({ info }: OpenApiDocument, sections: readonly Section[]): Markup {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${info.title} ${info.version}</title>
<link rel="stylesheet" href="docs/reference.css">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<nav class="contents" aria-label="Contents">
<p class="product"><a href="#introduction">${info.title}</a> <span class="version">${info.version}</span></p>
<details><summary>Contents</summary>
<ul>${sections.map(contentsOf)}</ul>
</details>
</nav>
<main id="content">
${sections.map(renderSection)}
</main>
</body>
</html>
`;
}

function contentsOf({ anchor, title, entries }: Section): Markup {
  const list =
    entries.length === 0 ? undefined : markup`<ul>${entries.map((entry) => markup`<li>${entry}</li>`)}</ul>`;
  return markup`<li><a href="#${anchor}">${title}</a>${list}</li>`;
}

function renderSection({ anchor, title, heading, body }: Section): Markup {
  return markup`<section id="${anchor}">
${heading ?? markup`<h2>${title}</h2>`}
${body}
</section>
`;
}

function introduction({ info, servers = [], externalDocs }: OpenApiDocument): Section {
  const { description = '' } = info;
  const address = externalDocs === undefined ? undefined : linkAddress(externalDocs.url);
  const body = markup`<p class="edition">Version ${info.version}${
    address === undefined
      ? undefined
      : markup` · <a href="${address}">${externalDocs?.description ?? 'OpenAPI document'}</a>`
  }</p>
<div class="prose">${renderMarkdown(description, { level: 3, anchor: 'guide' })}</div>
${servers.length === 0 ? undefined : markup`<h3 id="servers">Servers</h3><dl class="list">${servers.map(renderServer)}</dl>`}`;
  const guide = [
    ...headingsOf(description, 'guide'),
    ...(servers.length === 0 ? [] : [{ text: 'Servers', anchor: 'servers' }]),
  ].map(({ text, anchor }) => markup`<a href="#${anchor}">${renderInline(text)}</a>`);
  const heading = markup`<h1>${info.title}</h1>`;
  return { anchor: 'introduction', title: 'Introduction', heading, body, entries: guide };
}

function renderServer({ url, description, variables = {} }: Server): Markup {
  const details = Object.entries(variables).map(([name, variable]) => {
    const choices = (variable.enum ?? []).map((value) => markup`<code>${value}</code>`);
    return markup`<p><code>{${name}}</code>: ${
      variable.description === undefined ? undefined : markup`${renderInline(variable.description)} `
    }default <code>${variable.default}</code>${
      choices.length === 0 ? undefined : markup`, one of ${joinMarkup(choices, ', ')}`
    }</p>`;
  });
  return markup`<div><dt><code>${url}</code></dt><dd>${prose(description)}${details}</dd></div>`;
}

function authentication(document: OpenApiDocument): Section | undefined {
  const schemes = Object.entries(document.components?.securitySchemes ?? {}).map(
    ([name, scheme]) => [name, resolve(document, scheme)] as const,
  );
  if (schemes.length === 0) return undefined;
  return {
    anchor: 'authentication',
    title: 'Authentication',
    body: markup`<dl class="list">${schemes.map(([name, scheme]) => renderScheme(name, scheme))}</dl>`,
    entries: schemes.map(([name]) => markup`<a href="#${schemeAnchor(name)}">${name}</a>`),
  };
}

/** One section per tag: the document's tags in their order, then tags that only operations name. */
function operationGroups(document: OpenApiDocument): readonly Section[] {
  const groups = Map.groupBy(
    placed(document.paths ?? {}),
    ({ operation }) => operation.tags?.[0] ?? 'Operations',
  );
  const descriptions = new Map(document.tags?.map((tag) => [tag.name, tag.description]));
  const names = new Set([...descriptions.keys(), ...groups.keys()]);
  return [...names].flatMap((name) => {
    const operations = groups.get(name) ?? [];
    if (operations.length === 0) return [];
    return [
      {
        anchor: anchorOf('tag', name),
        title: name,
        body: markup`${prose(descriptions.get(name))}
${operations.map((operation) => renderOperation(document, operation))}`,
        entries: operations.map(operationEntry),
      },
    ];
  });
}

function webhooks(document: OpenApiDocument): Section | undefined {
  const operations = placed(document.webhooks ?? {});
  if (operations.length === 0) return undefined;
  return {
    anchor: 'webhooks',
    title: 'Webhooks',
    body: markup`${operations.map((operation) => renderOperation(document, operation))}`,
    entries: operations.map(operationEntry),
  };
}

function placed(items: Readonly<Record<string, PathItem>>): readonly PlacedOperation[] {
  return Object.entries(items).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined) return [];
      const anchor = anchorOf('operation', operation.operationId ?? `${method} ${path}`);
      return [
        {
          anchor,
          method,
          path,
          title: operation.summary ?? `${method.toUpperCase()} ${path}`,
          operation,
          item,
        },
      ];
    }),
  );
}

function operationEntry({ anchor, title, method }: PlacedOperation): Markup {
  return markup`<a href="#${anchor}">${title} ${methodBadge(method)}</a>`;
}

function problems(faults: readonly FaultEntry[]): Section | undefined {
  if (faults.length === 0) return undefined;
  const rows = faults.map(
    ({ code, status, title, detail }) => markup`<tr id="${problemAnchor(code)}">
<th scope="row"><code class="name">${problemCode(code)}</code></th>
<td><code class="status s${String(status).charAt(0)}">${status}</code></td>
<td><p><strong>${title}</strong></p><p>${renderInline(detail)}</p></td>
</tr>`,
  );
  const body = markup`<p>What the <code>type</code> of a problem ends in. Codes are stable: decide by them, not by the words.</p>
<table class="problems">
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Meaning</th></tr></thead>
<tbody>${rows}</tbody>
</table>`;
  return { anchor: 'problems', title: 'Problem types', body, entries: [] };
}

function objects(document: OpenApiDocument): Section | undefined {
  const schemas = Object.entries(document.components?.schemas ?? {}).filter(([, schema]) =>
    hasFields(document, schema),
  );
  if (schemas.length === 0) return undefined;
  const requests = requestReferences(document);
  return {
    anchor: 'objects',
    title: 'Objects',
    body: markup`${schemas.map(([name, schema]) =>
      renderObject(document, {
        name,
        schema,
        direction: requests.has(referenceTo(name)) ? 'request' : 'answer',
      }),
    )}`,
    entries: schemas.map(([name]) => markup`<a href="#${objectAnchor(name)}">${name}</a>`),
  };
}

function renderObject(
  document: OpenApiDocument,
  { name, schema, direction }: { name: string; schema: Schema; direction: Direction },
): Markup {
  const anchor = objectAnchor(name);
  return markup`<article class="object" id="${anchor}">
<h3><a href="#${anchor}">${name}</a></h3>
${prose(resolve(document, schema).description)}
${renderFields(document, { $ref: referenceTo(name) }, direction)}
</article>
`;
}

function referenceTo(name: string): string {
  return `#/components/schemas/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`;
}

/** The `$ref`s in the request bodies of all operations, including nested ones. */
function requestReferences(document: OpenApiDocument): ReadonlySet<string> {
  const found = new Set<string>();
  const search = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('$ref' in node && typeof node.$ref === 'string') {
      if (found.has(node.$ref)) return;
      found.add(node.$ref);
      search(resolve(document, { $ref: node.$ref }));
    }
    Object.values(node).forEach(search);
  };
  placed(document.paths ?? {}).forEach(({ operation }) => search(operation.requestBody));
  return found;
}

function prose(text: string | undefined): MarkupPart {
  return text === undefined ? undefined : renderMarkdown(text);
}
