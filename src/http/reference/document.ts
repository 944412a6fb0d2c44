/**
 * The parts of an OpenAPI 3.1 document that the reference page reads, and the resolution of its `$ref`s. The types are
 * structural, so objects made by hand or from TypeBox schemas match them.
 */

export interface Reference {
  readonly $ref: string;
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
}

export type Referable<T> = T | Reference;
type Named<T> = Readonly<Record<string, T>>;

/** The keywords of JSON Schema 2020-12 that the page shows. */
export interface Schema {
  readonly $ref?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly type?: string | readonly string[] | undefined;
  readonly format?: string | undefined;
  readonly pattern?: string | undefined;
  readonly const?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly examples?: readonly unknown[] | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly exclusiveMinimum?: number | undefined;
  readonly exclusiveMaximum?: number | undefined;
  readonly multipleOf?: number | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly uniqueItems?: boolean | undefined;
  readonly items?: Schema | undefined;
  readonly properties?: Named<Schema> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: boolean | Schema | undefined;
  readonly anyOf?: readonly Schema[] | undefined;
  readonly oneOf?: readonly Schema[] | undefined;
  readonly allOf?: readonly Schema[] | undefined;
  readonly nullable?: boolean | undefined;
  readonly deprecated?: boolean | undefined;
}

interface Example {
  readonly summary?: string | undefined;
  readonly value?: unknown;
}

export interface MediaType {
  readonly schema?: Schema | undefined;
  readonly example?: unknown;
  readonly examples?: Named<Referable<Example>> | undefined;
}

export interface Header {
  readonly description?: string | undefined;
  readonly required?: boolean | undefined;
  readonly deprecated?: boolean | undefined;
  readonly schema?: Schema | undefined;
  readonly example?: unknown;
}

export interface Parameter extends Header {
  readonly name: string;
  readonly in: string;
}

interface RequestBody {
  readonly description?: string | undefined;
  readonly required?: boolean | undefined;
  readonly content: Named<MediaType>;
}

export interface Response {
  readonly description: string;
  readonly headers?: Named<Referable<Header>> | undefined;
  readonly content?: Named<MediaType> | undefined;
  /** The codes (`not-found`) of the problem's `type`, if the schema and the examples do not name them. */
  readonly 'x-faults'?: readonly string[] | undefined;
}

interface CodeSample {
  readonly lang: string;
  readonly label?: string | undefined;
  readonly source: string;
}

/** Any one of an array of these is enough for the operation. One requires all its schemes, with the listed scopes. */
export type SecurityRequirement = Named<readonly string[]>;

export interface DocumentedOperation {
  readonly operationId?: string | undefined;
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly deprecated?: boolean | undefined;
  readonly security?: readonly SecurityRequirement[] | undefined;
  readonly parameters?: readonly Referable<Parameter>[] | undefined;
  readonly requestBody?: Referable<RequestBody> | undefined;
  readonly responses?: Named<Referable<Response>> | undefined;
  readonly 'x-codeSamples'?: readonly CodeSample[] | undefined;
}

/** In the order in which the operations of one path are shown. */
export const METHODS = ['get', 'post', 'put', 'patch', 'delete', 'head', 'options', 'trace'] as const;
export type Method = (typeof METHODS)[number];

export type PathItem = { readonly [method in Method]?: DocumentedOperation | undefined } & {
  readonly parameters?: readonly Referable<Parameter>[] | undefined;
};

interface Flow {
  readonly authorizationUrl?: string | undefined;
  readonly tokenUrl?: string | undefined;
  readonly scopes?: Named<string> | undefined;
}

export interface SecurityScheme {
  readonly type: string;
  readonly description?: string | undefined;
  readonly name?: string | undefined;
  readonly in?: string | undefined;
  readonly scheme?: string | undefined;
  readonly openIdConnectUrl?: string | undefined;
  readonly flows?: Named<Flow> | undefined;
}

export interface Server {
  readonly url: string;
  readonly description?: string | undefined;
  readonly variables?: Named<{
    readonly default: string;
    readonly enum?: readonly string[] | undefined;
    readonly description?: string | undefined;
  }>;
}

/** A row of the table of error codes, with its HTTP status. */
export interface FaultEntry {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary?: string | undefined;
    readonly license?: { readonly name: string; readonly identifier?: string | undefined } | undefined;
    readonly description?: string | undefined;
  };
  /** Shown next to the title. The URL can be relative to the service's root. */
  readonly externalDocs?: { readonly url: string; readonly description?: string | undefined } | undefined;
  readonly servers?: readonly Server[] | undefined;
  readonly tags?: readonly { readonly name: string; readonly description?: string | undefined }[] | undefined;
  readonly security?: readonly SecurityRequirement[] | undefined;
  readonly paths?: Named<PathItem> | undefined;
  readonly webhooks?: Named<PathItem> | undefined;
  readonly components?:
    | {
        readonly schemas?: Named<Schema> | undefined;
        readonly responses?: Named<Referable<Response>> | undefined;
        readonly parameters?: Named<Referable<Parameter>> | undefined;
        readonly examples?: Named<Referable<Example>> | undefined;
        readonly requestBodies?: Named<Referable<RequestBody>> | undefined;
        readonly headers?: Named<Referable<Header>> | undefined;
        readonly securitySchemes?: Named<Referable<SecurityScheme>> | undefined;
      }
    | undefined;
  readonly 'x-faults'?: readonly FaultEntry[] | undefined;
}

/**
 * Follows `$ref`s. Keywords next to a `$ref` override those of its target. The document is the service's own, so the
 * target is assumed to have the requested type.
 * @throws Error with the reference if it is circular, does not exist, or is outside `#/components/`.
 */
export function resolve<T extends object>(document: OpenApiDocument, node: T): Exclude<T, Reference> {
  const visited = new Set<string>();
  let current: object = node;
  for (let reference = referenceOf(current); reference !== undefined; reference = referenceOf(current)) {
    if (visited.has(reference)) throw new Error(`The $ref ${reference} leads back to itself.`);
    visited.add(reference);
    const { $ref: _, ...details } = current as Reference;
    current = { ...targetOf(document, reference), ...details };
  }
  return current as Exclude<T, Reference>;
}

function referenceOf(node: object): string | undefined {
  return '$ref' in node && typeof node.$ref === 'string' ? node.$ref : undefined;
}

function targetOf(document: OpenApiDocument, reference: string): object {
  if (!reference.startsWith('#/components/')) {
    throw new Error(`The $ref ${reference} does not begin with #/components/.`);
  }
  let target: unknown = document;
  for (const part of reference.slice(2).split('/')) {
    // JSON Pointer in a URI fragment (RFC 6901, section 6): percent-decoding first, then ~1 before ~0.
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    const owner: unknown = target;
    target =
      typeof owner === 'object' && owner !== null && Object.hasOwn(owner, key)
        ? Reflect.get(owner, key)
        : undefined;
  }
  if (typeof target !== 'object' || target === null) throw new Error(`The $ref ${reference} points nowhere.`);
  return target;
}
