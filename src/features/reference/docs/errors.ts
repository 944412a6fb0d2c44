/** The errors of each operation, and their responses in the OpenAPI document. */

import type { Documentation } from '../../../api/documentation.ts';
import { operations } from '../../../api/index.ts';
import type { FaultCode } from '../../../core/domain/fault.ts';
import { problemPath, problems } from '../../../http/problem.ts';
import { servicePages } from './service-pages.ts';
import * as texts from './texts.ts';

type Reference = { readonly $ref: string };
export type Response = {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, object>>;
  readonly 'x-faults'?: readonly FaultCode[];
};
export type Responses = Readonly<Record<string, Response | Reference>>;
/** The errors of every operation: from checks before its script, or because the service fails. */
export const errorsOfEveryOperation: readonly FaultCode[] = [
  'invalid-request', 'invalid-query', 'unauthenticated', 'invalid-signature', 'insufficient-scope', 'cross-site-request',
  'invalid-visitor', 'request-timeout', 'expectation-failed', 'too-many-requests', 'headers-too-large', 'internal-error',
  'overloaded', 'unavailable', 'not-writable', 'store-closed', 'closing',
]; // prettier-ignore

/** The errors of a request with a body. */
const errorsOfBodies: readonly FaultCode[] = [
  'invalid-body', 'body-too-large', 'unsupported-media-type', 'invalid-parameter',
]; // prettier-ignore

/** The errors of a request that can have an idempotency key. */
const errorsOfWrites: readonly FaultCode[] = [
  'invalid-idempotency-key',
  'idempotency-key-in-use',
  'idempotency-key-reused',
];

/** The errors of an operation, in addition to those of every operation. */
export function ownErrorsOf({
  body,
  isWrite,
  isThrottled,
  isUnlimited,
  errors,
}: Documentation): readonly FaultCode[] {
  const all: readonly FaultCode[] = [
    ...errors,
    ...(body ? errorsOfBodies : []),
    ...(isWrite ? errorsOfWrites : []),
    ...(isThrottled && !isUnlimited ? (['too-many-misses'] as const) : []),
  ];
  return [...new Set(all)];
}

/** The errors of a page that needs no credential. */
const errorsOfPages: readonly FaultCode[] = [
  'invalid-request', 'request-timeout', 'expectation-failed', 'headers-too-large', 'internal-error', 'closing',
]; // prettier-ignore

type ErrorResponses = {
  /** Each different response once, by its name. */
  readonly components: Record<string, Response>;
  /** References to the responses of an operation or page, by their statuses. */
  readonly references: (id: string) => Responses;
};

/**
 * One response per status, with every code that it can have. The most frequent response of a status is named after the
 * status; the names of the others include the first operation or page that has it.
 */
function errorResponses(codesOf: Readonly<Record<string, readonly FaultCode[]>>): ErrorResponses {
  const uses = Object.entries(codesOf).flatMap(([id, codes]) =>
    [...Map.groupBy(new Set(codes), (code) => problems[code].status)].map(([status, ofStatus]) => ({
      id,
      status,
      codes: ofStatus,
      key: ofStatus.toSorted().join(' '),
    })),
  );
  const names = new Map<string, string>();
  const components: Record<string, Response> = {};
  for (const [status, ofStatus] of Map.groupBy(uses, (use) => use.status)) {
    const byKey = [...Map.groupBy(ofStatus, (use) => use.key).values()];
    for (const [index, [first]] of byKey.toSorted((left, right) => right.length - left.length).entries()) {
      if (!first) continue;
      const title = problems[first.codes[0] ?? 'internal-error'].title.replaceAll(' ', '');
      const name =
        index === 0 ? title : `${title}For${first.id.replace(/^./, (letter) => letter.toUpperCase())}`;
      names.set(first.key, name);
      components[name] = errorResponse(status, first.codes);
    }
  }
  return {
    components,
    references: (id) =>
      Object.fromEntries(
        uses
          .filter((use) => use.id === id)
          .map(({ status, key }) => [status, { $ref: `#/components/responses/${names.get(key)}` }]),
      ),
  };
}

function errorResponse(status: number, codes: readonly FaultCode[]): Response {
  return {
    description: codes.map((code) => `\`${code}\`: ${problems[code].detail}`).join(' '),
    headers: headerReferences(['X-Request-Id', ...texts.headersOfStatus(status)]),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(
          codes.map((code) => [code, { summary: problems[code].detail, value: errorExampleOf(code) }]),
        ),
      },
    },
    'x-faults': codes,
  };
}

/** The body of an error response. */
export function errorExampleOf(code: FaultCode): object {
  const { status, title, detail } = problems[code];
  const errors = code === 'invalid-parameter' ? { initial_value: ['must be greater than 0'] } : title;
  return { type: problemPath(code), title, status, detail, errors, request_id: texts.requestIdExample };
}

export function headerReferences(headers: readonly string[]): Record<string, { readonly $ref: string }> {
  return Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

export const sharedErrors = errorResponses(
  Object.fromEntries<readonly FaultCode[]>([
    ...operations.map(
      ({ id, documentation }) => [id, [...errorsOfEveryOperation, ...ownErrorsOf(documentation)]] as const,
    ),
    ...Object.entries(servicePages).map(
      ([name, { errors }]) => [name, [...errors, ...errorsOfPages]] as const,
    ),
  ]),
);
