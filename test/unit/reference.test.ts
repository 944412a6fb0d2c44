import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openApiDocument } from '../../src/docs/openapi.ts';
import { problems } from '../../src/http/problem.ts';
import { linkAddress } from '../../src/http/reference/markup.ts';
import { headingsOf, renderMarkdown } from '../../src/http/reference/markdown.ts';
import { renderReference } from '../../src/http/reference/reference.ts';
import type { OpenApiDocument } from '../../src/http/reference/reference.ts';
import * as api from '../../src/api/index.ts';
import { sampleDocument } from './reference-sample.ts';

type Schema = NonNullable<NonNullable<OpenApiDocument['components']>['schemas']>[string];

/** The visible text of the page: no tags, entities decoded. */
function textOf(html: string): string {
  return html
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

/** Returns the article of one operation. */
function articleOf(html: string, operationId: string): string {
  const start = html.indexOf(`<article class="operation" id="operation-${operationId}">`);
  assert.notEqual(start, -1, `${operationId} is not on the page`);
  return html.slice(start, html.indexOf('</article>', start));
}

/** Returns a document with the text in every place for a text. */
function documentSaying(text: string): OpenApiDocument {
  const schema = { title: text, description: text, format: text, pattern: text, enum: [text], default: text };
  return {
    openapi: '3.1.1',
    info: { title: text, version: text, description: text },
    externalDocs: { url: text, description: text },
    servers: [{ url: text, description: text, variables: { [text]: { default: text, description: text } } }],
    tags: [{ name: text, description: text }],
    paths: {
      [text]: {
        get: {
          operationId: text,
          summary: text,
          description: text,
          tags: [text],
          security: [{ [text]: [text] }],
          parameters: [{ name: text, in: 'query', description: text, schema }],
          requestBody: {
            description: text,
            content: { [text]: { schema: { properties: { [text]: schema } }, example: { [text]: text } } },
          },
          responses: {
            [text]: {
              description: text,
              headers: { [text]: { description: text, schema } },
              content: { [text]: { example: { type: text } } },
            },
          },
          'x-codeSamples': [{ lang: text, label: text, source: text }],
        },
      },
    },
    components: {
      schemas: {
        [text]: { description: text, properties: { [text]: { anyOf: [schema, { type: 'null' }] } } },
      },
      securitySchemes: { [text]: { type: 'apiKey', in: text, name: text, description: text } },
    },
    'x-faults': [{ code: text, status: 400, title: text, detail: text }],
  };
}

function documentWith(operation: object, schemas: Readonly<Record<string, Schema>> = {}): OpenApiDocument {
  return {
    openapi: '3.1.1',
    info: { title: 'Sample', version: '1' },
    paths: { '/sample': { get: { operationId: 'sample', ...operation } } },
    components: { schemas },
  };
}

function documentResponding(schema: Schema, schemas: Readonly<Record<string, Schema>> = {}): OpenApiDocument {
  const content = { 'application/json': { schema } };
  return documentWith({ responses: { 200: { description: 'Done.', content } } }, schemas);
}

describe('the reference page is inert', () => {
  it('shows a script in a text and does not run it', () => {
    const attack = '<script>alert(1)</script>';
    const { html } = renderReference(documentSaying(attack));
    assert.doesNotMatch(html, /<script/i);
    assert.ok(textOf(html).includes(attack));
  });

  it('keeps any text inside its attribute', () => {
    for (const attack of ['"onfocus="alert(1)', "'onfocus='alert(1)", '"><img src=x onerror=alert(1)>']) {
      const { html } = renderReference(documentSaying(attack));
      for (const [tag] of html.matchAll(/<[a-z][^<]*?>/g)) {
        assert.match(
          tag,
          /^<[a-z][a-z0-9]*( [a-z-]+(="[^"]*")?)*>$/,
          'every tag is a name and quoted attributes',
        );
        assert.doesNotMatch(tag.replace(/"[^"]*"/g, '""'), / on[a-z]+=/, 'there is an event handler');
      }
      assert.doesNotMatch(html, /<img/);
    }
  });

  it('contains no URL that could run code', () => {
    for (const address of [
      'javascript:alert(1)',
      'JavaScript:alert(1)',
      'data:text/html,x',
      'java\nscript:alert(1)',
    ]) {
      assert.equal(linkAddress(address), undefined, address);
      const document = sampleDocument();
      const { html } = renderReference({
        ...document,
        info: { ...document.info, description: `[here](${address})` },
        externalDocs: { url: address },
      });
      assert.doesNotMatch(html, /href="(?!#|docs\/reference\.css")/, address);
    }
    assert.equal(linkAddress('openapi.json'), 'openapi.json');
    assert.equal(linkAddress('https://example.com/a?b=c'), 'https://example.com/a?b=c');
  });

  it('loads only its own style sheet, by a relative URL', () => {
    const { html, css } = renderReference(sampleDocument());
    assert.deepEqual(html.match(/<link[^>]*>/g), ['<link rel="stylesheet" href="docs/reference.css">']);
    const tags = (html.match(/<[a-z][^>]*>/g) ?? []).join('\n');
    assert.doesNotMatch(tags, /\s(src|srcset|action|style|data|poster)=/);
    assert.doesNotMatch(tags, /<(script|style|iframe|object|embed|base|form|img)\b/);
    assert.doesNotMatch(tags, /href="(\/|https?:)/);
    assert.doesNotMatch(css, /url\(|@import|https?:/);
    assert.ok(Buffer.byteLength(css) < 10_000, `the style sheet has ${Buffer.byteLength(css)} bytes`);
  });
});

describe('the reference page is complete', () => {
  it('has every operation with its path, parameters and statuses', () => {
    const document = sampleDocument();
    const { html } = renderReference(document);
    let operations = 0;
    for (const [path, item] of Object.entries(document.paths ?? {})) {
      for (const method of ['get', 'post', 'put'] as const) {
        const operation = item[method];
        if (operation === undefined) continue;
        operations += 1;
        const article = articleOf(html, operation.operationId ?? '');
        const text = textOf(article);
        assert.ok(text.includes(`${method.toUpperCase()} ${path}`));
        assert.ok(text.includes(operation.summary ?? path));
        for (const parameter of [...(item.parameters ?? []), ...(operation.parameters ?? [])]) {
          const name = 'name' in parameter ? parameter.name : parameter.$ref;
          const shown = name
            .replace(/^#.*GiftCardId$/, 'gift_card_id')
            .replace(/^#.*IdempotencyKey$/, 'Idempotency-Key');
          assert.ok(
            article.includes(`<code class="name">${shown}</code>`),
            `${operation.operationId}: ${shown}`,
          );
        }
        for (const status of Object.keys(operation.responses ?? {})) {
          assert.ok(
            article.includes(`id="operation-${operation.operationId}-${status}"`),
            `${path} ${status}`,
          );
          assert.ok(article.includes(`>${status}</code>`), `${operation.operationId}: ${status}`);
        }
        for (const { source } of operation['x-codeSamples'] ?? []) assert.ok(text.includes(source));
      }
    }
    assert.equal(operations, 5);
  });

  it('has title, version, servers, schemes, tags, webhooks, problem codes and objects', () => {
    const document = sampleDocument();
    const text = textOf(renderReference(document).html);
    const { schemas = {}, securitySchemes = {} } = document.components ?? {};
    const expected = [
      document.info.title,
      document.info.version,
      ...(document.servers ?? []).map((server) => server.url),
      ...(document.tags ?? []).map((tag) => tag.name),
      ...Object.keys(document.webhooks ?? {}),
      ...Object.keys(securitySchemes),
      ...Object.keys(schemas),
      ...Object.values(schemas).flatMap((schema) => Object.keys(schema.properties ?? {})),
      ...(document['x-faults'] ?? []).flatMap((fault) => [fault.code.replaceAll('_', '-'), fault.title]),
    ];
    assert.ok(expected.length > 50);
    for (const one of expected) assert.ok(text.includes(one), one);
  });

  it('links to exactly one element of the page', () => {
    const { html } = renderReference(sampleDocument());
    const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length, 'an id is repeated');
    const links = [...html.matchAll(/ href="#([^"]*)"/g)].map(([, id]) => id);
    assert.ok(links.length > 40);
    for (const link of links) assert.ok(ids.includes(link), `#${link} has no target`);
  });

  it('lists every operation, problem table and object in the contents', () => {
    const { html } = renderReference(sampleDocument());
    const contents = html.slice(html.indexOf('<nav'), html.indexOf('</nav>'));
    const listed = new Set([...contents.matchAll(/ href="#([^"]*)"/g)].map(([, anchor]) => anchor));
    for (const [, anchor] of html.matchAll(/<(?:article|section)[^>]* id="([^"]*)"/g)) {
      assert.ok(listed.has(anchor), `${anchor} is not in the contents`);
    }
    for (const guide of ['guide-amounts', 'guide-idempotency', 'servers', 'auth-bearer']) {
      assert.ok(listed.has(guide), guide);
    }
  });

  it('lists the credentials and scopes of an operation', () => {
    const { html } = renderReference(sampleDocument());
    const create = textOf(articleOf(html, 'createGiftCard'));
    assert.match(create, /Credentialbearer or accessToken or gcfAccessTokenScopewrite_gift_cards/);
    assert.match(
      textOf(articleOf(html, 'retrieveGiftCard')),
      /Scoperead_gift_cards/,
      "the document's own default",
    );
    assert.match(textOf(articleOf(html, 'health')), /Credentialnone needed/);
  });

  it('lists the problem types of an error, from its examples or x-faults, with links', () => {
    const { html } = renderReference(sampleDocument());
    const search = articleOf(html, 'searchGiftCard');
    for (const code of ['not-found', 'missing-scope', 'invalid-parameter', 'idempotency-key-reused']) {
      assert.ok(search.includes(`<a href="#problem-${code}"><code>${code}</code></a>`), code);
    }
    assert.ok(
      !search.includes('href="#problem-malformed-request"'),
      'a code that is not in the table is linked',
    );
    assert.ok(search.includes('<code>malformed-request</code>'));
  });

  it('shows examples as JSON, and the headers of responses', () => {
    const { html } = renderReference(sampleDocument());
    const update = textOf(articleOf(html, 'updateGiftCard'));
    assert.ok(update.includes('"last_characters": "7f3k"'));
    assert.ok(update.includes('"must be greater than 0"'));
    assert.ok(update.includes('WWW-Authenticate'));
    assert.ok(update.includes('Retry-After'));
  });
});

describe('the reference page of this service', () => {
  const keys = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const;
  for (const basePath of ['', '/apps/x']) {
    it(`contains every operation, object and code at ${basePath || 'the root'}`, () => {
      const document = openApiDocument(basePath);
      const { html } = renderReference(document);
      for (const { id, method, path } of api.operations) {
        const text = textOf(articleOf(html, id));
        const operation = document.paths?.[path.replaceAll(/:([a-z_]+)/g, '{$1}')];
        const described = operation?.[keys[method]];
        assert.equal(described?.operationId, id);
        assert.ok(text.includes(described.summary ?? id), id);
        for (const { source } of described['x-codeSamples'] ?? []) assert.ok(text.includes(source), id);
        for (const status of Object.keys(described.responses ?? {})) {
          assert.ok(html.includes(`id="operation-${id}-${status}"`), `${id} ${status}`);
        }
      }
      for (const name of Object.keys(document.components?.schemas ?? {})) {
        assert.ok(textOf(html).includes(name), name);
      }
      for (const code of Object.keys(problems)) assert.ok(html.includes(` id="problem-${code}"`), code);
    });

    it(`links to exactly one element each at ${basePath || 'the root'}`, () => {
      const { html } = renderReference(openApiDocument(basePath));
      const ids = [...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
      const unique = new Set(ids);
      assert.equal(unique.size, ids.length, 'an id is repeated');
      const links = [...html.matchAll(/ href="#([^"]*)"/g)].map(([, id]) => id);
      assert.ok(links.length > 200);
      for (const link of links) assert.ok(unique.has(link), `#${link} has no target`);
    });
  }
});

describe('the reference page describes schemas in words', () => {
  const cases: readonly (readonly [string, Schema, RegExp])[] = [
    ['a type or null', { type: ['string', 'null'] }, /\sstring or null\s/],
    ['a union with null', { anyOf: [{ type: 'integer' }, { type: 'null' }] }, /\sinteger or null\s/],
    ['nullable', { type: 'string', nullable: true }, /\sstring or null\s/],
    ['an enum of constants', { anyOf: [{ const: 'a' }, { const: 'b' }] }, /\sstring\s[^]*one of "a", "b"/],
    ['an enum with null', { enum: ['a', null] }, /\sstring or null\s[^]*one of "a"\s/],
    ['a constant', { const: 5 }, /\snumber\s[^]*always 5/],
    ['a format', { type: 'string', format: 'date' }, /string \(date\)/],
    ['a pattern', { type: 'string', pattern: '^<a>$' }, /matches \^<a>\$/],
    ['a range', { type: 'integer', minimum: 1, maximum: 2000 }, /1 to 2,000/],
    ['open ends', { type: 'number', exclusiveMinimum: 0, maximum: 5 }, /at most 5 · greater than 0/],
    ['a length', { type: 'string', maxLength: 1 }, /at most 1 character\s/],
    ['an exact length', { type: 'string', minLength: 4, maxLength: 4 }, /exactly 4 characters/],
    [
      'a list',
      { type: 'array', items: { type: 'string', maxLength: 9 }, minItems: 1 },
      /array of string[^]*each: at most 9/,
    ],
    ['a map', { type: 'object', additionalProperties: { type: 'integer' } }, /object, each value integer/],
    [
      'two forms',
      { oneOf: [{ type: 'number', minimum: 0 }, { type: 'string' }] },
      /number or string[^]*as number: at least 0/,
    ],
    ['a default', { type: 'boolean', default: false }, /default false/],
    ['anything', {}, /any value/],
  ];
  for (const [name, schema, expected] of cases) {
    it(name, () => {
      const { html } = renderReference(documentResponding({ type: 'object', properties: { field: schema } }));
      assert.match(textOf(articleOf(html, 'sample')), expected);
    });
  }

  it('joins the fields of allOf', () => {
    const schemas = {
      Base: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } },
      Whole: { allOf: [{ $ref: '#/components/schemas/Base' }, { properties: { code: { type: 'string' } } }] },
    };
    const { html } = renderReference(documentResponding({ $ref: '#/components/schemas/Whole' }, schemas));
    const article = articleOf(html, 'sample');
    assert.ok(
      article.includes('<code class="name">id</code>') && article.includes('<code class="name">code</code>'),
    );
  });

  it('ends at an object that contains itself', () => {
    const self = { $ref: '#/components/schemas/Node' };
    const schemas = {
      Node: { type: 'object', properties: { parent: self, children: { type: 'array', items: self } } },
      Value: {
        anyOf: [{ type: 'string' }, { type: 'array', items: { $ref: '#/components/schemas/Value' } }],
      },
      Holder: { type: 'object', properties: { value: { $ref: '#/components/schemas/Value' } } },
    };
    const { html } = renderReference(documentResponding({ $ref: '#/components/schemas/Holder' }, schemas));
    assert.match(textOf(html), /string or array of Value/);
    assert.match(textOf(html), /array of Node/);
  });
});

describe('the reference page rejects a reference', () => {
  const broken: readonly (readonly [string, string])[] = [
    ['without a target', '#/components/schemas/Missing'],
    ['outside of the components', '#/paths/sample'],
    ['to another document', 'https://example.com/schema.json'],
    ['to an inherited property', '#/components/schemas/constructor'],
    ['to itself', '#/components/schemas/Loop'],
  ];
  for (const [name, reference] of broken) {
    it(name, () => {
      const schemas = { Loop: { $ref: '#/components/schemas/Loop' } };
      const inner = { type: 'object', properties: { field: { $ref: reference } } };
      const own = reference.endsWith('Loop') ? schemas : {};
      assert.throws(
        () => renderReference(documentResponding(inner, own)),
        (error) => error instanceof Error && error.message.includes(reference),
      );
    });
  }

  it('in a parameter, a response, a header and an example', () => {
    const $ref = '#/components/nowhere/Missing';
    const operations = [
      { parameters: [{ $ref }] },
      { requestBody: { $ref } },
      { responses: { 200: { $ref } } },
      { responses: { 200: { description: '', headers: { A: { $ref } } } } },
      { responses: { 400: { description: '', content: { 'a/b': { examples: { one: { $ref } } } } } } },
    ];
    for (const operation of operations) {
      assert.throws(
        () => renderReference(documentWith(operation)),
        /points nowhere/,
        JSON.stringify(operation),
      );
    }
  });
});

describe('the Markdown of descriptions', () => {
  const render = (text: string): string => renderMarkdown(text, { level: 3, anchor: 'guide' }).toString();

  it('has paragraphs, code, bold and links', () => {
    assert.equal(
      render('One `<a>` **bold `b`**\nline.\n\n[Two](#two)'),
      '<p>One <code>&lt;a&gt;</code> <strong>bold <code>b</code></strong>\nline.</p>\n<p><a href="#two">Two</a></p>',
    );
  });

  it('has lists with items of several lines', () => {
    assert.equal(render('Of:\n- one\n  more\n- two'), '<p>Of:</p>\n<ul><li>one\nmore</li><li>two</li></ul>');
    assert.equal(render('1. one\n2. two'), '<ol><li>one</li><li>two</li></ol>');
  });

  it('leaves fenced code unchanged, including unclosed fences', () => {
    assert.equal(
      render('```sh\n# **a** <b>\n\n- c\n```'),
      '<pre tabindex="0"><code># **a** &lt;b&gt;\n\n- c</code></pre>',
    );
    assert.equal(render('```\nopen'), '<pre tabindex="0"><code>open</code></pre>');
  });

  it('gives headings the ids of the contents', () => {
    const text = '## Rate *limits* & more\n\n### Deeper';
    assert.equal(
      render(text),
      '<h3 id="guide-rate-limits-more">Rate *limits* &amp; more</h3>\n<h4 id="guide-deeper">Deeper</h4>',
    );
    assert.deepEqual(headingsOf(text, 'guide'), [
      { text: 'Rate *limits* & more', anchor: 'guide-rate-limits-more' },
    ]);
  });

  it('shows HTML and incomplete markup unchanged', () => {
    assert.equal(render('<b>a</b> **b `c'), '<p>&lt;b&gt;a&lt;/b&gt; **b `c</p>');
  });
});
