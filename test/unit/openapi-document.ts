/** The OpenAPI document as the tests read it. */

import assert from 'node:assert/strict';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { openApiDocument, type OpenApiDocument } from '../../src/features/reference/docs/openapi.ts';

export type Json = Readonly<Record<string, unknown>>;
export type Operation = NonNullable<OpenApiDocument['paths'][string]['get']>;
type Responses = Operation['responses'];

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** Returns the served document. */
export function served(basePath: string): OpenApiDocument {
  return JSON.parse(JSON.stringify(openApiDocument(basePath, 'https://cards.example'))) as OpenApiDocument;
}

export const document = served('');

/** Yields every node of the document with its path. */
export function* walk(node: unknown, path = '#'): Generator<readonly [path: string, node: Json]> {
  if (!isObject(node)) return;
  yield [path, node];
  for (const [key, value] of Object.entries(node)) yield* walk(value, `${path}/${key.replaceAll('/', '~1')}`);
}

/** Returns the target of a local reference. */
function targetOf(reference: string): Json {
  let target: unknown = document;
  for (const key of reference.replace(/^#\//, '').split('/'))
    target = isObject(target) ? target[key] : undefined;
  assert.ok(isObject(target), `${reference} points nowhere`);
  return target;
}

/** Returns the node with every reference replaced by its target. */
export function inlined(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(inlined);
  if (!isObject(node)) return node;
  if (typeof node['$ref'] === 'string') return inlined(targetOf(node['$ref']));
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, inlined(value)]));
}

/** The schema with closed objects: the document leaves responses open, and a response has no undocumented field. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (!isObject(node)) return node;
  const parts = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  return node['type'] === 'object' && 'properties' in node
    ? { additionalProperties: false, ...parts }
    : parts;
}

/** Accepts no field that the schema does not have. */
export function validator(schema: unknown): (value: unknown) => boolean {
  const compiled = Compile(closed(inlined(schema)) as TSchema);
  return (value) => compiled.Check(value);
}

/** Every operation and page with its path and resolved responses. */
export const described = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  (['get', 'post', 'put', 'delete'] as const).flatMap((method) => {
    const operation = item[method];
    if (!operation) return [];
    const responses = Object.entries(operation.responses ?? {}).map(([status, response]) => [
      status,
      '$ref' in response ? targetOf(response.$ref) : response,
    ]);
    return [
      { path, method, operation: { ...operation, responses: Object.fromEntries(responses) as Responses } },
    ];
  }),
);

export function operationOf(id: string): Operation {
  const found = described.find(({ operation }) => operation.operationId === id);
  assert.ok(found, `no operation ${id}`);
  return found.operation;
}

/** The codes in the `x-faults` of all responses. */
export function faultsOf(operation: Operation): string[] {
  return Object.values(operation.responses ?? {}).flatMap((response) => {
    const codes: unknown = Reflect.get(response, 'x-faults');
    return Array.isArray(codes) ? codes.map(String) : [];
  });
}

/** Returns the schema of the component of a body. */
export function bodySchema(name: string): Json {
  return targetOf(`#/components/schemas/${name}`);
}

export type GivenBody = {
  readonly required: boolean;
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: Json; readonly example?: unknown }>>;
};

/** Returns a validator of the documented body of a request. */
export function documentedBody(id: string): (value: unknown) => boolean {
  const { content } = operationOf(id).requestBody as GivenBody;
  assert.deepEqual(Object.keys(content), ['application/json', 'application/x-www-form-urlencoded']);
  assert.deepEqual(content['application/json']?.schema, content['application/x-www-form-urlencoded']?.schema);
  return validator(content['application/json']?.schema);
}
