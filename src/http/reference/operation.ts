/** One operation of the reference page: its description, request and responses. */
import { STATUS_CODES } from 'node:http';
import { renderInline, renderMarkdown, splitLead } from './markdown.ts';
import { anchorOf, joinMarkup, markup } from './markup.ts';
import type { Markup } from './markup.ts';
import { resolve } from './document.ts';
import type {
  Header,
  MediaType,
  Method,
  OpenApiDocument,
  DocumentedOperation,
  Parameter,
  PathItem,
  Referable,
  Response,
  Schema,
} from './document.ts';
import { renderMediaExamples, renderSamples } from './sample.ts';
import { renderFacts, renderFields, renderRows } from './fields.ts';
import type { Direction, FieldRow } from './fields.ts';
import { describeType, hasFields } from './schema.ts';
import { renderSecurity } from './security.ts';

/** An operation and its place in the document. */
export interface PlacedOperation {
  readonly anchor: string;
  readonly method: Method;
  /** The path below the server's URL, or a webhook's name. */
  readonly path: string;
  readonly title: string;
  readonly operation: DocumentedOperation;
  readonly item: PathItem;
}

/** Node.js has the old names of these two, which RFC 9110 renamed. */
const REASONS: Readonly<Record<string, string | undefined>> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
  422: 'Unprocessable Content',
};

const PLACES = ['path', 'query', 'header', 'cookie'] as const;

/** The id of an error code's row; `insufficient_balance` and `…/insufficient-balance` are the same code. */
export function problemAnchor(code: string): string {
  return anchorOf('problem', problemCode(code));
}

/** The error code at the end of a problem's `type`, unchanged. */
export function problemCode(type: string): string {
  return type.slice(type.lastIndexOf('/') + 1).replaceAll('_', '-');
}

/** The operation as an article with the id `placed.anchor`. @throws Error if a `$ref` cannot be resolved. */
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

/** The HTTP method as a coloured label. */
export function methodBadge(method: Method): Markup {
  return markup`<span class="method ${method}">${method.toUpperCase()}</span>`;
}

function renderParameters(document: OpenApiDocument, placed: PlacedOperation): Markup {
  const own = (placed.operation.parameters ?? []).map((parameter) => resolve(document, parameter));
  const shared = (placed.item.parameters ?? []).map((parameter) => resolve(document, parameter));
  // A parameter of the operation overrides the path's parameter of the same name.
  const inherited = shared.filter(
    (one) => !own.some((other) => other.name === one.name && other.in === one.in),
  );
  const all = [...inherited, ...own];
  const tables = PLACES.map((place) => {
    const rows = all.filter((parameter) => parameter.in === place).map(parameterRow);
    if (rows.length === 0) return undefined;
    return markup`<h4>${place.charAt(0).toUpperCase()}${place.slice(1)} parameters</h4>
${renderRows(document, rows, 'request')}`;
  });
  return joinMarkup(tables, '\n');
}

function parameterRow(parameter: Parameter): FieldRow {
  return {
    ...headerRow(parameter.name, parameter),
    presence: parameter.required === true ? 'required' : 'optional',
  };
}

function headerRow(name: string, header: Header): FieldRow {
  const { schema = {}, example } = header;
  return {
    name,
    presence: undefined,
    schema: example === undefined ? schema : { ...schema, examples: [example] },
    description: header.description,
    deprecated: header.deprecated,
  };
}

function renderRequestBody(document: OpenApiDocument, operation: DocumentedOperation): Markup | undefined {
  if (operation.requestBody === undefined) return undefined;
  const body = resolve(document, operation.requestBody);
  const presence = body.required === true ? 'required' : 'optional';
  return markup`<h4>Request body <span class="${presence}">${presence}</span></h4>
${body.description === undefined ? undefined : renderMarkdown(body.description)}
${renderContent(document, body.content, { direction: 'request', isUnfolded: true, hasExamples: true })}`;
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
  const reason = REASONS[status];
  const label = reason === undefined ? undefined : markup`<strong>${reason}</strong> `;
  const title = markup`<code class="status s${status.slice(0, 1)}">${status}</code> <span>${label}${
    lead === reason ? undefined : renderInline(lead)
  }</span>`;
  const rows = Object.entries(headers).map(([name, header]) => headerRow(name, resolve(document, header)));
  const codes = new Set([
    ...Object.values(content).flatMap((media) => (isSuccess ? [] : problemTypes(document, media))),
    ...(rest['x-faults'] ?? []),
  ]);
  const parts = [
    more === '' ? undefined : renderMarkdown(more),
    codes.size === 0 ? undefined : renderProblemCodes(document, [...codes]),
    // The examples of successful responses are next to the sample request.
    renderContent(document, content, {
      direction: 'answer',
      isUnfolded: isSuccess,
      hasExamples: !isSuccess,
    }),
    rows.length === 0 ? undefined : markup`<h5>Headers</h5>${renderRows(document, rows, 'answer')}`,
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
  return renderFacts([['Problem type', joinMarkup(codes, ', ')]]);
}

/** Every `type` in a body's schema or examples. */
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
  const branches = [...(type.anyOf ?? []), ...(type.oneOf ?? [])].map(
    (part) => resolve(document, part).const,
  );
  return [...forms, type.const, ...(type.enum ?? []), ...branches];
}

/**
 * Bodies by content type; types with the same schema are shown together. If a body is collapsed, a named object is only
 * a link, because the errors of all operations have the same problem body.
 */
function renderContent(
  document: OpenApiDocument,
  content: Readonly<Record<string, MediaType>>,
  { direction, isUnfolded, hasExamples }: { direction: Direction; isUnfolded: boolean; hasExamples: boolean },
): Markup {
  const groups = Map.groupBy(Object.entries(content), ([, media]) => JSON.stringify(media.schema));
  const bodies = [...groups.values()].map((group) => {
    const types = group.map(([type]) => markup`<code>${type}</code>`);
    const schema = group[0]?.[1].schema;
    return markup`<p class="content"><span>${joinMarkup(types, ' or ')}</span>${
      schema === undefined ? undefined : renderBodyType(document, schema)
    }</p>
${schema === undefined || (!isUnfolded && isNamedObject(document, schema)) ? undefined : renderFields(document, schema, direction)}
${hasExamples ? group.map(([type, media]) => renderMediaExamples(document, type, media)) : undefined}`;
  });
  return joinMarkup(bodies, '\n');
}

/** The type of a body; nothing if its table shows it. */
function renderBodyType(document: OpenApiDocument, schema: Schema): Markup | undefined {
  const isTable = hasFields(document, schema) && schema.$ref === undefined && schema.items === undefined;
  return isTable ? undefined : markup`<span class="type">${describeType(document, schema)}</span>`;
}

function isNamedObject(document: OpenApiDocument, schema: Schema): boolean {
  return schema.$ref !== undefined && hasFields(document, schema);
}
