/** One operation of the reference page: what it is, what it takes, what it answers. */
import { STATUS_CODES } from 'node:http';
import { renderInline, renderMarkdown, splitLead } from './markdown.ts';
import { anchorOf, joinMarkup, markup } from './markup.ts';
import type { Fragment, Markup } from './markup.ts';
import { resolve } from './reference-document.ts';
import type {
  Header,
  MediaType,
  Method,
  OpenApiDocument,
  Operation,
  Parameter,
  PathItem,
  Referable,
  Response,
  Schema,
  SecurityRequirement,
} from './reference-document.ts';
import { renderMediaExamples, renderSamples } from './reference-sample.ts';
import { describeType, hasFields, objectAnchor, renderFields, renderRows } from './reference-schema.ts';
import type { Row } from './reference-schema.ts';

/** An operation with the place where the document has it. */
export interface PlacedOperation {
  readonly anchor: string;
  readonly method: Method;
  /** The path below the server's address, or a webhook's name. */
  readonly path: string;
  readonly title: string;
  readonly operation: Operation;
  readonly item: PathItem;
}

const PLACES = ['path', 'query', 'header', 'cookie'] as const;

/** The id of a security scheme's description. */
export function schemeAnchor(name: string): string {
  return anchorOf('auth', name);
}

/** The id of a problem code's row; `insufficient_balance` and `…/insufficient-balance` are the same code. */
export function problemAnchor(code: string): string {
  return anchorOf('problem', problemCode(code));
}

/** The machine code that a problem's `type` ends in, in the form it has there. */
export function problemCode(type: string): string {
  return type.slice(type.lastIndexOf('/') + 1).replaceAll('_', '-');
}

/** The operation as an article with the id `placed.anchor`. Throws an Error on an unresolvable `$ref`. */
export function renderOperation(document: OpenApiDocument, placed: PlacedOperation): Markup {
  const { anchor, operation } = placed;
  const samples = renderSamples(document, operation);
  return markup`<article class="operation" id="${anchor}">
<header>
<h3><a href="#${anchor}">${placed.title}</a></h3>
<p class="endpoint">${methodBadge(placed.method)} <code>${placed.path}</code></p>
</header>
<div class="${samples === undefined ? 'alone' : 'beside'}">
<div class="about">
${operation.deprecated === true ? markup`<p class="deprecated">Deprecated: do not use it in new work.</p>` : undefined}
${operation.description === undefined ? undefined : renderMarkdown(operation.description, { level: 4, anchor: `${anchor}-about` })}
${renderSecurity(operation.security ?? document.security ?? [])}
</div>
${samples}
<div class="parts">
${renderParameters(document, placed)}
${renderRequestBody(document, operation)}
${renderResponses(document, placed)}
</div>
</div>
</article>`;
}

/** The HTTP method as a coloured label, the same in contents and heading. */
export function methodBadge(method: Method): Markup {
  return markup`<span class="method ${method}">${method.toUpperCase()}</span>`;
}

function renderSecurity(requirements: readonly SecurityRequirement[]): Markup {
  if (requirements.length === 0) return facts([['Credential', 'none needed']]);
  const scopes = new Set(requirements.map((requirement) => Object.values(requirement).flat().join(' ')));
  const [shared] = scopes;
  const alternatives = requirements.map((requirement) => {
    const schemes = Object.entries(requirement).map(([name, own]): Fragment => {
      const link = markup`<a href="#${schemeAnchor(name)}">${name}</a>`;
      return scopes.size === 1 || own.length === 0 ? link : markup`${link} (${scopeList(own)})`;
    });
    return schemes.length === 0 ? 'none' : joinMarkup(schemes, ' and ');
  });
  const credential = joinMarkup(alternatives, ' or ');
  if (scopes.size > 1 || shared === undefined || shared === '') return facts([['Credential', credential]]);
  return facts([
    ['Credential', credential],
    ['Scope', scopeList(shared.split(' '))],
  ]);
}

function scopeList(scopes: readonly string[]): Markup {
  const codes = [...new Set(scopes)].map((scope) => markup`<code>${scope}</code>`);
  return joinMarkup(codes, ', ');
}

function facts(pairs: readonly (readonly [string, Fragment])[]): Markup {
  const items = pairs.map(([term, value]) => markup`<div><dt>${term}</dt><dd>${value}</dd></div>`);
  return markup`<dl class="facts">${items}</dl>`;
}

function renderParameters(document: OpenApiDocument, placed: PlacedOperation): Markup {
  const own = (placed.operation.parameters ?? []).map((parameter) => resolve(document, parameter));
  const shared = (placed.item.parameters ?? []).map((parameter) => resolve(document, parameter));
  // An operation's parameter takes the place of the path's parameter of the same name.
  const inherited = shared.filter((one) => !own.some((other) => other.name === one.name && other.in === one.in));
  const all = [...inherited, ...own];
  const tables = PLACES.map((place) => {
    const rows = all.filter((parameter) => parameter.in === place).map(parameterRow);
    if (rows.length === 0) return undefined;
    return markup`<h4>${place.charAt(0).toUpperCase()}${place.slice(1)} parameters</h4>
${renderRows(document, rows)}`;
  });
  return joinMarkup(tables, '\n');
}

function parameterRow(parameter: Parameter): Row {
  return { ...headerRow(parameter.name, parameter), presence: parameter.required === true ? 'required' : 'optional' };
}

function headerRow(name: string, header: Header): Row {
  const { schema = {}, example } = header;
  return {
    name,
    presence: undefined,
    schema: example === undefined ? schema : { ...schema, examples: [example] },
    description: header.description,
    deprecated: header.deprecated,
  };
}

function renderRequestBody(document: OpenApiDocument, operation: Operation): Markup | undefined {
  if (operation.requestBody === undefined) return undefined;
  const body = resolve(document, operation.requestBody);
  const presence = body.required === true ? 'required' : 'optional';
  return markup`<h4>Request body <span class="${presence}">${presence}</span></h4>
${body.description === undefined ? undefined : renderMarkdown(body.description, { level: 4, anchor: 'body' })}
${renderContent(document, body.content, { isUnfolded: true, hasExamples: true })}`;
}

function renderResponses(document: OpenApiDocument, placed: PlacedOperation): Markup {
  const responses = Object.entries(placed.operation.responses ?? {}).map(([status, response]) =>
    renderResponse(document, { anchor: `${placed.anchor}-${status}`, status, response }),
  );
  return markup`<h4>Responses</h4>
<div class="responses">${responses}</div>`;
}

function renderResponse(
  document: OpenApiDocument,
  { anchor, status, response }: { anchor: string; status: string; response: Referable<Response> },
): Markup {
  const { description, headers = {}, content = {}, ...rest } = resolve(document, response);
  const { lead, rest: more } = splitLead(description);
  const isSuccess = status.startsWith('2');
  const reason = STATUS_CODES[status];
  const title = markup`<code class="status s${status.slice(0, 1)}">${status}</code> <span>${
    lead === '' || lead === reason
      ? markup`<strong>${reason ?? ''}</strong>`
      : markup`<strong>${reason ?? ''}</strong> ${renderInline(lead)}`
  }</span>`;
  const rows = Object.entries(headers).map(([name, header]) => headerRow(name, resolve(document, header)));
  const codes = new Set([
    ...Object.values(content).flatMap((media) => problemTypes(document, media)),
    ...(rest['x-faults'] ?? []),
  ]);
  const parts = [
    more === '' ? undefined : renderMarkdown(more, { level: 4, anchor }),
    codes.size === 0 ? undefined : renderProblemCodes(document, [...codes]),
    rows.length === 0 ? undefined : markup`<h5>Headers</h5>${renderRows(document, rows)}`,
    // The examples of a success stand beside the request that leads to it.
    renderContent(document, content, { isUnfolded: isSuccess, hasExamples: !isSuccess }),
  ].filter((part) => part !== undefined);
  if (parts.every((part) => part.toString() === '')) {
    return markup`<div class="response" id="${anchor}"><p>${title}</p></div>`;
  }
  const open = isSuccess ? markup` open` : undefined;
  return markup`<details class="response" id="${anchor}"${open}><summary>${title}</summary>
<div>${joinMarkup(parts, '\n')}</div></details>`;
}

function renderProblemCodes(document: OpenApiDocument, types: readonly string[]): Markup {
  const known = new Set(document['x-faults']?.map((fault) => problemCode(fault.code)));
  const codes = [...new Set(types.map(problemCode))].map((code) =>
    known.has(code)
      ? markup`<a href="#${problemAnchor(code)}"><code>${code}</code></a>`
      : markup`<code>${code}</code>`,
  );
  return facts([[markup`<code>type</code>` === undefined ? '' : 'Problem type', joinMarkup(codes, ', ')]]);
}

/** Every `type` that a body's schema allows or its examples show. */
function problemTypes(document: OpenApiDocument, media: MediaType): readonly string[] {
  const { schema = {}, example, examples = {} } = media;
  const values = [example, ...Object.values(examples).map((one) => resolve(document, one).value)];
  const shown = values.map((value) =>
    typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined,
  );
  return [...allowedTypes(document, schema), ...shown].filter((type) => typeof type === 'string');
}

function allowedTypes(document: OpenApiDocument, schema: Schema): readonly unknown[] {
  const { properties = {}, allOf = [], anyOf = [], oneOf = [] } = resolve(document, schema);
  const forms = [...allOf, ...anyOf, ...oneOf].flatMap((part) => allowedTypes(document, part));
  if (properties['type'] === undefined) return forms;
  const type = resolve(document, properties['type']);
  const branches = [...(type.anyOf ?? []), ...(type.oneOf ?? [])].map((part) => resolve(document, part).const);
  return [...forms, type.const, ...(type.enum ?? []), ...branches];
}

/**
 * Bodies by content type, types with the same schema together. Unfolded, a schema's table stands here; else a named
 * object is only linked, as with the problem body, which every refusal of every operation has.
 */
function renderContent(
  document: OpenApiDocument,
  content: Readonly<Record<string, MediaType>>,
  { isUnfolded, hasExamples }: { isUnfolded: boolean; hasExamples: boolean },
): Markup {
  const groups = Map.groupBy(Object.entries(content), ([, media]) => JSON.stringify(media.schema));
  const bodies = [...groups.values()].map((group) => {
    const types = group.map(([type]) => markup`<code>${type}</code>`);
    const [, { schema = {} } = {}] = group[0] ?? [];
    const isLinked = !isUnfolded && schema.$ref !== undefined && hasFields(document, schema);
    return markup`<p class="content">${joinMarkup(types, ' or ')}<span class="type">${describeType(document, schema)}</span></p>
${isLinked ? undefined : renderFields(document, schema)}
${hasExamples ? group.map(([type, media]) => renderMediaExamples(document, type, media)) : undefined}`;
  });
  return joinMarkup(bodies, '\n');
}

/** Where a table of contents finds an object's section, for callers that link it. */
export { objectAnchor };
