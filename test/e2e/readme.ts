/**
 * The marked blocks of a Markdown document: `<!-- e2e: create -->` before a block of commands, and
 * `<!-- e2e: response create -->` before the response to them.
 */

import assert from 'node:assert/strict';

type Printed = { readonly kind: string; readonly text: string };

const block =
  /^<!-- e2e: (?<response>response )?(?<name>[\w-]+) -->\n+```(?<kind>\w+)\n(?<text>[\s\S]*?)\n```$/gm;

function* blocksIn(
  document: string,
): Generator<Printed & { readonly name: string; readonly isResponse: boolean }> {
  const marks = document.match(/<!-- e2e:/g) ?? [];
  let found = 0;
  for (const { groups } of document.matchAll(block)) {
    found += 1;
    const { name = '', kind = '', text = '', response } = groups ?? {};
    yield { name, kind, text, isResponse: response !== undefined };
  }
  assert.equal(found, marks.length, 'a mark without a block after it');
}

/** The commands by their names, in the document's order. */
export function commandsIn(document: string): Record<string, string> {
  const blocks = [...blocksIn(document)].filter(({ isResponse }) => !isResponse);
  for (const { name, kind } of blocks) assert.equal(kind, 'sh', name);
  return Object.fromEntries(blocks.map(({ name, text }) => [name, text]));
}

/** The responses by the names of their commands. */
export function responsesIn(document: string): Record<string, Printed> {
  const blocks = [...blocksIn(document)].filter(({ isResponse }) => isResponse);
  for (const { name, kind } of blocks) assert.ok(kind === 'json' || kind === 'http', name);
  return Object.fromEntries(blocks.map(({ name, kind, text }) => [name, { kind, text }]));
}

/** The values that differ in each run, by the name of their field or header, and their form. */
const varying: readonly (readonly [names: RegExp, form: RegExp])[] = [
  [/^(?:.+_)?id$/, /^[1-9]\d{9,15}$/],
  [/_at$/, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/],
  [/^code$/, /^[0-9a-z]{16}$/],
  [/^last_characters$/, /^[0-9a-z]{4}$/],
  [/^(?:request_id|x-request-id)$/, /^[\w-]{36}$/],
  [/^etag$/, /^"\d+-\d+-\d+"$/],
  [/^location$/, /^\/gift_card\/\d+$/],
  [/^date$/, /GMT$/],
  [/^ratelimit$/, /./],
];

/**
 * Compares a response with the printed one: the same fields in the same order, of the same types, with the
 * same values. A varying value has its form, and a value that the document prints twice is the same in both
 * places: `known` maps printed values to actual ones.
 */
export function assertResponse(actual: string, { kind, text }: Printed, known: Map<string, unknown>): void {
  if (kind === 'json') {
    assertSame(JSON.parse(actual), JSON.parse(text), { name: '', known });
    return;
  }
  const [given, printed] = [parseHttp(actual), parseHttp(text)];
  assert.equal(given.status, printed.status);
  for (const [name, value] of printed.headers) {
    assertSame(given.headers.get(name), value, { name, known });
  }
  if (printed.body !== '') assertSame(JSON.parse(given.body), JSON.parse(printed.body), { name: '', known });
}

function parseHttp(text: string): { status: string; headers: Map<string, string>; body: string } {
  const [head = '', ...body] = text.replaceAll('\r\n', '\n').split('\n\n');
  const [status = '', ...lines] = head.split('\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status, headers: new Map(headers), body: body.join('\n\n') };
}

function assertSame(
  actual: unknown,
  printed: unknown,
  { name, known }: { readonly name: string; readonly known: Map<string, unknown> },
): void {
  const [, form] = varying.find(([names]) => names.test(name)) ?? [];
  if (typeof printed === 'object' && printed !== null) {
    assert.ok(typeof actual === 'object' && actual !== null, name);
    assert.deepEqual(Object.keys(actual), Object.keys(printed), name);
    const given = new Map(Object.entries(actual) as [string, unknown][]);
    for (const [field, value] of Object.entries(printed)) {
      assertSame(given.get(field), value, { name: Array.isArray(printed) ? name : field, known });
    }
  } else if (form && printed !== null) {
    assert.equal(typeof actual, typeof printed, name);
    const shown = JSON.stringify(printed);
    for (const value of [actual, printed]) assert.match(String(value), form, name);
    if (!known.has(shown)) known.set(shown, actual);
    assert.equal(actual, known.get(shown), `${name} is replaced by different values: ${shown}`);
  } else {
    assert.equal(actual, printed, name);
  }
}
