/** The request of an operation's documented example, as a curl command and as a program in three languages. */

import type { Operation } from '../../../api/operation-route.ts';
import { pathIds } from '../../../api/path.ts';
import { clientMethods } from './client-methods.ts';
import type { CodeSample, RunnableRequest } from './content.ts';
import { literalIn, type Syntax, type Value } from './literals.ts';
import { isListOf, isStreamOf } from './operation.ts';

type SampleRequest = {
  readonly method: string;
  readonly url: string;
  readonly idempotencyKey: string | undefined;
  readonly body: object | undefined;
};

/** The samples of an operation at the URL of a service, each with the name of its language as caption. */
export function samplesOf(operation: Operation, baseUrl: string): readonly CodeSample[] {
  const request = requestOf(operation, baseUrl);
  return [
    sample('curl', 'sh', curlSampleOf(operation, baseUrl)),
    sample('JavaScript', 'js', javaScriptOf(operation, request, baseUrl)),
    sample('PHP', 'php', phpOf(request, isStreamOf(operation))),
    sample('Python', 'python', pythonOf(request, isStreamOf(operation))),
  ];
}

function sample(caption: string, language: CodeSample['language'], code: string): CodeSample {
  return { kind: 'sample', caption, language, code };
}

/** The request of the samples with a token, for a button on the page; undefined: its response does not end. */
export function runnableOf(
  operation: Operation,
  { baseUrl, token }: { readonly baseUrl: string; readonly token: string },
): RunnableRequest | undefined {
  if (isStreamOf(operation)) return undefined;
  const { method, url, idempotencyKey, body } = requestOf(operation, baseUrl);
  const { pathname, search } = new URL(url);
  return {
    method,
    path: `${pathname}${search}`,
    headers: {
      authorization: `Bearer ${token}`,
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(body && { 'content-type': 'application/json' }),
    },
    body: body ? JSON.stringify(body, null, 2) : null,
  };
}

function requestOf({ method, path, documentation }: Operation, baseUrl: string): SampleRequest {
  const { body, sample: given } = documentation;
  const { query, idempotencyKey } = given;
  const examplePath = path.replaceAll(/:([a-z_]+)/g, (_, name: keyof typeof pathIds) =>
    String(pathIds[name].example),
  );
  const isBodyShown = body && Object.keys(body.fields).length > 0;
  const sent = given.body === undefined && isBodyShown ? body.example : given.body;
  return {
    method,
    url: `${baseUrl}${examplePath}${query === undefined ? '' : `?${query}`}`,
    idempotencyKey,
    body: sent ?? undefined,
  };
}

/** The curl command of an operation at the URL of a service, which can be a variable of the shell. */
export function curlSampleOf(operation: Operation, baseUrl: string): string {
  const { method, url, idempotencyKey, body } = requestOf(operation, baseUrl);
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"${url}"`,
    '-H "Authorization: Bearer $TOKEN"',
    ...(idempotencyKey === undefined ? [] : [`-H "Idempotency-Key: ${idempotencyKey}"`]),
    ...(body ? ['-H "Content-Type: application/json"', `-d '${spaced(body)}'`] : []),
  ].join(' \\\n  ');
}

/** JSON on one line, with spaces between its parts. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`);
  return `{${members.join(', ')}}`;
}

const javaScript: Syntax = {
  object: ['{ ', ' }'],
  list: ['[', ']'],
  member: (name, value) => `${name}: ${value}`,
  text: (text) => `'${text.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`,
  constants: { true: 'true', false: 'false', null: 'null' },
};

function argumentOf(value: object): string {
  return literalIn(javaScript, value as Value, { indent: 2, step: 2 });
}

/** A program with the client library. It reads a list and a stream to the end. */
function javaScriptOf(
  operation: Operation,
  { body, idempotencyKey }: SampleRequest,
  baseUrl: string,
): string {
  const ids = [...operation.path.matchAll(/:([a-z_]+)/g)].map(([, name]) =>
    String(pathIds[name as keyof typeof pathIds].example),
  );
  const query = queryOf(operation);
  const input = body ?? (Object.keys(query).length > 0 ? query : undefined);
  const takesInput = Object.keys(operation.documentation.body?.fields ?? {}).length > 0;
  const options = idempotencyKey === undefined ? undefined : argumentOf({ idempotencyKey });
  const given = [
    ...ids,
    ...(input ? [argumentOf(input)] : []),
    ...(!input && options !== undefined && takesInput ? ['{}'] : []),
    ...(options === undefined ? [] : [options]),
  ];
  const line = given.join(', ');
  const sent = line.length > 60 ? `\n${given.map((one) => `  ${one},\n`).join('')}` : line;
  const call = `largesse.${clientMethods[operation.id as keyof typeof clientMethods]}(${sent})`;
  return [
    "import { createClient } from 'largesse-client';",
    '',
    `const largesse = createClient({ url: '${baseUrl}', token: process.env.TOKEN });`,
    isListOf(operation) || isStreamOf(operation)
      ? `for await (const record of ${call}) console.log(record);`
      : `const result = await ${call};\nconsole.log(result);`,
  ].join('\n');
}

/** The query of the example, with numbers where the parameter is an integer. */
function queryOf({ documentation: { query, sample: given } }: Operation): Record<string, Value> {
  return Object.fromEntries(
    [...new URLSearchParams(given.query)].map(([name, value]) => {
      const isInteger = JSON.stringify(query[name]?.schema).includes('"integer"');
      return [name, isInteger && /^\d+$/.test(value) ? Number(value) : value];
    }),
  );
}

const python: Syntax = {
  object: ['{', '}'],
  list: ['[', ']'],
  member: (name, value) => `${JSON.stringify(name)}: ${value}`,
  text: (text) => JSON.stringify(text),
  constants: { true: 'True', false: 'False', null: 'None' },
};

function pythonOf({ method, url, idempotencyKey, body }: SampleRequest, isStream: boolean): string {
  return [
    ...(body || !isStream ? ['import json'] : []),
    'import os',
    'from urllib.request import Request, urlopen',
    '',
    'request = Request(',
    `    "${url}",`,
    ...(method === 'GET' ? [] : [`    method="${method}",`]),
    '    headers={',
    `        "Authorization": "Bearer " + os.environ["TOKEN"],`,
    ...(idempotencyKey === undefined ? [] : [`        "Idempotency-Key": "${idempotencyKey}",`]),
    ...(body ? ['        "Content-Type": "application/json",'] : []),
    '    },',
    ...(body
      ? [`    data=json.dumps(${literalIn(python, body as Value, { indent: 4, step: 4 })}).encode(),`]
      : []),
    ')',
    'with urlopen(request) as response:',
    ...(isStream
      ? ['    for line in response:', '        print(line.decode().rstrip())']
      : ['    print(json.load(response))']),
  ].join('\n');
}

const php: Syntax = {
  object: ['[', ']'],
  list: ['[', ']'],
  member: (name, value) => `'${name}' => ${value}`,
  text: (text) => `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`,
  constants: { true: 'true', false: 'false', null: 'null' },
};

function phpOf({ method, url, idempotencyKey, body }: SampleRequest, isStream: boolean): string {
  return [
    '<?php',
    '',
    "$context = stream_context_create(['http' => [",
    ...(method === 'GET' ? [] : [`    'method' => '${method}',`]),
    "    'header' => [",
    "        'Authorization: Bearer ' . getenv('TOKEN'),",
    ...(idempotencyKey === undefined ? [] : [`        'Idempotency-Key: ${idempotencyKey}',`]),
    ...(body ? ["        'Content-Type: application/json',"] : []),
    '    ],',
    ...(body
      ? [`    'content' => json_encode(${literalIn(php, body as Value, { indent: 4, step: 4 })}),`]
      : []),
    // The body of an error says what is wrong.
    "    'ignore_errors' => true,",
    ']]);',
    ...(isStream
      ? [
          `$stream = fopen('${url}', 'r', false, $context);`,
          'while (($line = fgets($stream)) !== false) echo $line;',
        ]
      : [`echo file_get_contents('${url}', false, $context);`]),
  ].join('\n');
}
