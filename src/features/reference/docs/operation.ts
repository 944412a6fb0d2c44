/** The documentation of an operation, for the OpenAPI document and for the operation's page. */

import type { TSchema } from 'typebox';
import type { Documentation } from '../../../api/documentation.ts';
import type { Operation } from '../../../api/operation-route.ts';
import { externalPathPattern, idNamesIn, pathIds } from '../../../api/path.ts';
import * as texts from './texts.ts';

const internalOrPublicId = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const;

function idSchemaOf(name: keyof typeof pathIds): object {
  if (!('externalKind' in pathIds[name])) return internalOrPublicId;
  return { anyOf: [internalOrPublicId, { type: 'string', pattern: externalPathPattern }] };
}

/** The parameters outside the body. */
export function parametersOf({ path, documentation }: Operation): readonly texts.Parameter[] {
  const { query, errors, isConditional, isWrite, isThrottled, takesLastEventId } = documentation;
  const { parameters } = texts;
  const inPath = idNamesIn(path).map((name): texts.Parameter => ({
    name,
    in: 'path',
    required: true,
    description: pathIds[name].description,
    schema: idSchemaOf(name),
    example: pathIds[name].example,
  }));
  const inQuery = Object.entries(query).map(([name, { schema, isRequired }]): texts.Parameter => {
    const { description, ...rest } = schema as TSchema & { readonly description?: string };
    return { name, in: 'query', ...(isRequired && { required: true }), description, schema: rest };
  });
  return [
    ...inPath,
    ...inQuery,
    ...(takesLastEventId ? [parameters.lastEventId] : []),
    ...(isConditional ? [parameters.ifNoneMatch] : []),
    ...(errors.includes('precondition-failed') ? [parameters.ifMatch] : []),
    ...(isWrite ? [parameters.dryRun, parameters.idempotencyKey] : []),
    ...(isThrottled ? [parameters.visitor] : []),
    parameters.requestId,
  ];
}

/** The headers of a successful response. */
export function headersOf({ response, isWrite }: Documentation): readonly (keyof typeof texts.headers)[] {
  const ofWrites = ['Idempotent-Replayed', 'Dry-Run'] as const;
  return [
    'Cache-Control',
    'X-Request-Id',
    'RateLimit',
    'RateLimit-Policy',
    ...response.headers,
    ...(isWrite ? ofWrites : []),
  ];
}

/** The path in the notation of OpenAPI: `/gift_card/{gift_card_id}`. */
export function pathTemplateOf(path: string): string {
  return path.replaceAll(/:([a-z_]+)/g, '{$1}');
}

/** Whether the response is a page of a list, whose header has the next one. */
export function isListOf({ documentation }: Operation): boolean {
  return documentation.response.headers.includes('Link');
}

/** Whether the response is a stream of events. */
export function isStreamOf({ documentation: { response } }: Operation): boolean {
  return 'type' in response.content && response.content.type === 'text/event-stream';
}

/** The URL of a service whose origin is unknown: one on this machine. Guides contain it in place of the service's. */
export const unknownServiceUrl = 'http://localhost:3000';

/** The URL of a service. */
export function baseUrlOf({
  origin,
  basePath,
}: {
  readonly origin: string;
  readonly basePath: string;
}): string {
  return `${origin === '' ? unknownServiceUrl : origin}${basePath}`;
}
