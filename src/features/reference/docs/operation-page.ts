/** The page of an operation. */

import { echoedSchema, notSettable, type Fields } from '../../../api/field.ts';
import type { Operation } from '../../../api/operation-route.ts';
import type { FaultCode } from '../../../core/domain/fault.ts';
import { problems } from '../../../http/problem.ts';
import {
  prose,
  type CodeSample,
  type CodeSamples,
  type FieldRow,
  type PageBlock,
  type ReferencePage,
} from './content.ts';
import { errorsOfEveryOperation, ownErrorsOf } from './errors.ts';
import { headersOf, parametersOf, pathTemplateOf } from './operation.ts';
import { runnableOf, samplesOf } from './samples.ts';
import { objects, objectsIn, rowsOf, textOf, typeOf } from './schema.ts';
import * as texts from './texts.ts';

/** The name of an operation's page: `create-gift-card`. */
function pageNameOf({ id }: Pick<Operation, 'id'>): string {
  return id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** A link in Markdown to the page of an operation. */
export function linkTo(operation: Operation): string {
  return `[${operation.documentation.summary}](${pageNameOf(operation)})`;
}

/** The service that samples are for. */
export type SampleService = {
  readonly baseUrl: string;
  /** The one of a sandbox, with which samples can be run; null: there is none. */
  readonly token: string | null;
};

export function operationPage(operation: Operation, service: SampleService): ReferencePage {
  const { documentation, method, path } = operation;
  const { tag, summary, description, response } = documentation;
  return {
    name: pageNameOf(operation),
    title: summary,
    note: `\`${method} ${pathTemplateOf(path)}\``,
    group: tag,
    endpoint: { method, path: pathTemplateOf(path) },
    blocks: [
      prose(description, notesOf(operation)),
      ...parameterBlocks(operation, 'path'),
      ...bodyBlocks(operation),
      ...parameterBlocks(operation, 'query'),
      ...parameterBlocks(operation, 'header'),
      ...responseBlocks(operation),
      ...errorBlocks(operation),
    ],
    samples: [requestSamples(operation, service), responseSample(response)],
  };
}

/** Credentials, and what applies to this kind of operation. */
function notesOf({ scopes: allowed, customerMaySearch, documentation }: Operation): string {
  const { isWrite, isConditional, isThrottled, isUnlimited, errors } = documentation;
  const scope = allowed.map((name) => `\`${name}\``).join(' or ');
  const proxy = customerMaySearch ? ', or a signature of the [app proxy](authentication#app-proxy)' : '';
  return [
    `- **Credential**: an [access token](authentication) with the scope ${scope}${proxy}.`,
    ...(isWrite
      ? [
          '- **Retries**: safe with an [`Idempotency-Key`](idempotency).',
          '- **Dry run**: `dry_run=true` [changes nothing](dry-runs).',
        ]
      : []),
    ...(isConditional
      ? ['- **Caching**: `If-None-Match` [returns 304](conditional-requests) if nothing has changed.']
      : []),
    ...(errors.includes('precondition-failed')
      ? ['- **Concurrency**: `If-Match` [applies](conditional-requests) the write only to a known version.']
      : []),
    ...(isThrottled ? [limitsNote(isUnlimited)] : []),
  ].join('\n');
}

function limitsNote(isUnlimited: boolean): string {
  return isUnlimited
    ? '- **Limits**: an unknown id is a [failed lookup](rate-limits#failed-lookups), but their limit never rejects this operation.'
    : '- **Limits**: [failed lookups](rate-limits#failed-lookups) are limited.';
}

const parameterTitles = {
  path: 'Path parameters',
  query: 'Query parameters',
  header: 'Request headers',
} as const;

function parameterBlocks(operation: Operation, place: keyof typeof parameterTitles): readonly PageBlock[] {
  const rows = parametersOf(operation)
    .filter((parameter) => parameter.in === place)
    .map(({ name, required, description, schema, example }): FieldRow => {
      const shown = { ...schema, ...(example !== undefined && { examples: [example] }) };
      return {
        name,
        type: typeOf(schema),
        presence: required ? 'required' : 'optional',
        text: textOf(shown, 'text', description),
      };
    });
  return rows.length === 0 ? [] : [prose(`## ${parameterTitles[place]}`), { kind: 'rows', rows }];
}

function bodyBlocks({ documentation: { body } }: Operation): readonly PageBlock[] {
  if (!body) return [];
  const { description, wrapper, fields } = body;
  const { own, others } = partition(fields);
  return [
    prose(
      '## Body',
      description ?? '',
      own.length > 0 && `JSON or a form, [bare or wrapped](requests) in \`${wrapper}\`.`,
    ),
    ...(own.length > 0 ? [{ kind: 'rows', rows: own } as const] : []),
    ...(others.length > 0 ? [prose('These fields of the record cannot be set:', others.join('\n'))] : []),
  ];
}

/** Separates the fields that a client sets from the fields of the record that it can only send back. */
function partition(fields: Fields): {
  readonly own: readonly FieldRow[];
  readonly others: readonly string[];
} {
  const rows = Object.entries(fields).map(([name, { schema, isRequired }]) => ({
    isOwn: schema !== notSettable.schema && descriptionOf(schema) !== descriptionOf(echoedSchema(name)),
    name,
    type: typeOf(schema),
    presence: isRequired ? ('required' as const) : ('optional' as const),
    text: textOf(schema, 'request'),
  }));
  const { true: own = [], false: others = [] } = Object.groupBy(rows, ({ isOwn }) => `${isOwn}` as const);
  const alike = Map.groupBy(others, (row) => `${row.text} (${row.type})`);
  return {
    own,
    others: [...alike].map(
      ([about, group]) => `- ${group.map(({ name }) => `\`${name}\``).join(', ')}: ${about}`,
    ),
  };
}

function descriptionOf(schema: object): string | undefined {
  return (schema as { readonly description?: string }).description;
}

function responseBlocks({ documentation }: Operation): readonly PageBlock[] {
  const { response, isConditional } = documentation;
  const { status, description, content } = response;
  const headers = headersOf(documentation).map((name): FieldRow => {
    const { description: about, schema } = texts.headers[name];
    // The description of a constant names its value.
    return { name, type: typeOf(schema), text: 'const' in schema ? about : textOf(schema, 'text', about) };
  });
  const members = 'members' in content ? Object.entries(content.members) : [];
  return [
    prose(
      '## Response',
      `**${status}** ${description}`,
      isConditional && '**304** The client has the current version: `If-None-Match` lists it.',
    ),
    ...(members.length > 0
      ? [
          {
            kind: 'rows',
            rows: members.map(([name, schema]) => ({
              name,
              type: typeOf(schema),
              text: '',
              rows: memberRows(schema),
            })),
          } as const,
        ]
      : []),
    { kind: 'rows', rows: headers, folded: 'Response headers' },
  ];
}

/** The fields of a member. If it has several forms, the fields of the first; those that others lack are optional. */
function memberRows(schema: object): readonly FieldRow[] {
  const [first = [], ...others] = objectsIn(schema).map((name) => rowsOf(objects[name] ?? {}, 'response'));
  return first.map((row) =>
    others.every((rows) => rows.some(({ name }) => name === row.name))
      ? row
      : { ...row, presence: 'optional' as const },
  );
}

function errorBlocks({ documentation }: Operation): readonly PageBlock[] {
  return [
    prose('## Errors'),
    { kind: 'rows', rows: errorRows(ownErrorsOf(documentation)) },
    { kind: 'rows', rows: errorRows(errorsOfEveryOperation), folded: 'Errors of every operation' },
  ];
}

function errorRows(codes: readonly FaultCode[]): readonly FieldRow[] {
  return codes
    .map((code) => ({ code, ...problems[code] }))
    .toSorted((one, other) => one.status - other.status)
    .map(({ code, status, detail }) => ({
      name: code,
      target: `errors#${code}`,
      type: String(status),
      text: detail,
    }));
}

export function requestSamples(operation: Operation, { baseUrl, token }: SampleService): CodeSamples {
  const run = token === null ? undefined : runnableOf(operation, { baseUrl, token });
  return { kind: 'samples', caption: 'Request', samples: samplesOf(operation, baseUrl), run };
}

function responseSample({ status, content }: Operation['documentation']['response']): CodeSample {
  const caption = `Response ${status}`;
  return 'members' in content
    ? { kind: 'sample', caption, language: 'json', code: JSON.stringify(content.example, null, 2) }
    : { kind: 'sample', caption, language: 'text', code: content.example };
}
