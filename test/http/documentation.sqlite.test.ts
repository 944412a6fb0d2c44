/** The API reference as clients see it: pages, their Markdown forms, llms.txt, and how they are sent. */

import assert from 'node:assert/strict';
import { get } from 'node:http';
import test, { after } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { operations } from '../../src/api/index.ts';
import { clientMethods } from '../../src/features/reference/docs/client-methods.ts';
import { problems } from '../../src/http/problem.ts';
import { startService, type TestService } from '../support/service.ts';
import { exchange, requestText } from '../support/wire.ts';

const basePath = '/apps/gcf/api';
const service = await startService({ environment: { BASE_PATH: basePath, TRUSTED_PROXIES: '127.0.0.2' } });
after(() => service[Symbol.asyncDispose]());
const { origin } = new URL(service.url);

type Received = Pick<Awaited<ReturnType<typeof service.request>>, 'status' | 'headers' | 'text'>;

async function fetched(path: string): Promise<Received> {
  const response = await fetch(`${origin}${path}`, { redirect: 'manual' });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The text of HTML with its entities replaced, without tags. */
function textOf(html: string): string {
  return decoded(html.replaceAll(/<[^>]*>/g, ''));
}

function decoded(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

const voidElements = new Set(['meta', 'link', 'wbr', 'br', '!doctype']);

/** The names of all elements in order. @throws AssertionError if an element is not closed in its parent. */
function elementsOf(html: string): readonly string[] {
  const open: string[] = [];
  const names: string[] = [];
  for (const [tag, slash, name = ''] of html.matchAll(/<(\/?)([!a-z0-9]+)(?:\s[^<>]*)?>/g)) {
    if (slash === '/') assert.equal(open.pop(), name, `${tag} closes another element`);
    else {
      names.push(name);
      // These end a paragraph that is open.
      if (['ul', 'pre', 'figure', 'details', 'h1', 'h2', 'h3', 'p'].includes(name))
        assert.ok(!open.includes('p'), `${tag} in a paragraph`);
      if (!voidElements.has(name)) open.push(name);
    }
  }
  assert.deepEqual(open, []);
  assert.ok(!/[<>]/.test(html.replaceAll(/<(\/?)([!a-z0-9]+)(?:\s[^<>]*)?>/g, '')), 'text is not escaped');
  return names;
}

type Crawled = { readonly pages: ReadonlyMap<string, Received>; readonly links: readonly URL[] };

/** Follows every link from the index. @param prefix the root or the base path. */
async function crawl(prefix: string): Promise<Crawled> {
  const pages = new Map<string, Received>();
  const links: URL[] = [];
  const waiting = [`${prefix}/docs`, `${prefix}/llms.txt`];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (pages.has(path)) continue;
    const received = await fetched(path);
    pages.set(path, received);
    const isHtml = received.headers.get('content-type')?.startsWith('text/html') ?? false;
    const isText = /^text\/(?:markdown|plain)/.test(received.headers.get('content-type') ?? '');
    const pattern = isHtml ? / href="([^"]*)"/g : /\]\(([^)]*)\)/g;
    for (const [, href = ''] of isHtml || isText ? received.text.matchAll(pattern) : []) {
      const link = new URL(decoded(href), `${origin}${path}`);
      // An empty icon, so that browsers do not request one.
      if (link.protocol === 'data:') continue;
      links.push(link);
      if (link.origin === origin) waiting.push(link.pathname);
    }
  }
  return { pages, links };
}

const atRoot = await crawl('');
const atBase = await crawl(basePath);

function htmlPages({ pages }: Crawled): readonly (readonly [string, Received])[] {
  return [...pages].filter(([, { headers }]) => headers.get('content-type')?.startsWith('text/html'));
}

const elsewhere: ReadonlySet<string> = new Set(['https://www.standardwebhooks.com/']);

for (const [prefix, crawled] of [
  ['', atRoot],
  [basePath, atBase],
] as const) {
  test(`every link of the reference at ${prefix || 'the root'} leads to an existing page and heading`, () => {
    assert.ok(htmlPages(crawled).length > operations.length + 10);
    assert.ok(crawled.links.length > 3_000);
    for (const [path, { status }] of crawled.pages) assert.equal(status, 200, path);
    for (const { origin: host, pathname, hash, href } of crawled.links) {
      if (host !== origin) {
        assert.ok(elsewhere.has(href), href);
        continue;
      }
      assert.ok(pathname.startsWith(`${prefix}/`), `${href} leaves the base path`);
      const page = crawled.pages.get(pathname.replace(/\.md$/, ''));
      if (hash !== '') assert.ok(page?.text.includes(` id="${hash.slice(1)}"`), `${href} has no target`);
    }
  });
}

test('the reference is the same at the root and below the base path', () => {
  assert.equal(atRoot.pages.size, atBase.pages.size);
  for (const [path, { text }] of atRoot.pages)
    assert.equal(text, atBase.pages.get(`${basePath}${path}`)?.text, path);
});

test('every page is well formed, has one script of its own, and is readable with assistive technology', async (t) => {
  for (const [path, received] of htmlPages(atRoot)) {
    await t.test(path, () => {
      const { text, headers } = received;
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.ok(headers.has('x-request-id'));
      const elements = elementsOf(text);
      assert.ok(!elements.includes('style') && !elements.includes('img'));
      const script = `<script type="module" src="${path === '/docs' ? 'docs/' : ''}script.js"></script>`;
      assert.equal(elements.filter((name) => name === 'script').length, 1);
      assert.ok(text.includes(script), script);
      assert.doesNotMatch(text.replace(script, ''), /<[^>]*\s(?:on[a-z]+|style|src)=/);
      assert.equal(
        headers.get('content-security-policy'),
        "default-src 'none'; style-src 'self'; font-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
      assert.equal(new Set(ids).size, ids.length, 'an id is repeated');
      for (const landmark of ['main', 'nav', 'footer']) assert.ok(elements.includes(landmark), landmark);
      assert.match(text, /<a class="skip" href="#content">/);
      assert.match(text, /<html lang="en">/);
      assert.equal(text.match(/ aria-current="page"/g)?.length, 1);
      const levels = elements.filter((name) => /^h[1-6]$/.test(name)).map((name) => Number(name.slice(1)));
      assert.equal(levels[0], 1);
      assert.equal(levels.filter((level) => level === 1).length, 1);
      for (const [index, level] of levels.entries())
        assert.ok(level <= (levels[index - 1] ?? 0) + 1, 'a level of headings is missing');
      assert.doesNotMatch(textOf(text), /undefined|\[object|NaN/);
    });
  }
});

test('titles and descriptions of pages are unique', () => {
  for (const pattern of [/<title>([^<]*)</, /<meta name="description" content="([^"]*)"/]) {
    const found = htmlPages(atRoot).map(([path, { text }]) => pattern.exec(text)?.[1] ?? path);
    assert.equal(new Set(found).size, found.length);
  }
});

test('the index is below 60 KB and lists every operation with its method, path and summary', () => {
  const { text } = atRoot.pages.get('/docs') ?? assert.fail();
  assert.ok(Buffer.byteLength(text) < 60_000, `${Buffer.byteLength(text)} bytes`);
  for (const { method, path, documentation } of operations) {
    const listed = `${documentation.summary} ${method} ${path.replaceAll(/:([a-z_]+)/g, '{$1}')}`;
    assert.ok(textOf(text).includes(listed), listed);
  }
});

test('the page of an operation and its Markdown contain its parameters, errors and examples', async (t) => {
  for (const { id, method, path, scopes, query, documentation } of operations) {
    await t.test(id, () => {
      const name = `/docs/${id.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
      const page = textOf(atRoot.pages.get(name)?.text ?? assert.fail(name));
      const markdown = atRoot.pages.get(`${name}.md`)?.text ?? assert.fail(`${name}.md`);
      const { summary, body, response, errors, isWrite } = documentation;
      const members = 'members' in response.content ? Object.keys(response.content.members) : [];
      const names = [
        ...query,
        ...(path.match(/(?<=:)[a-z_]+/g) ?? []),
        ...Object.keys(body?.fields ?? {}),
        ...(isWrite ? ['Idempotency-Key', 'dry_run'] : []),
        ...(errors.includes('precondition-failed') ? ['If-Match'] : []),
        ...members,
        ...response.headers,
        ...scopes,
        ...errors,
        'unauthenticated',
        'internal-error',
      ];
      for (const text of [page, markdown]) {
        assert.ok(text.includes(summary));
        assert.ok(text.includes(path.replaceAll(/:([a-z_]+)/g, '{$1}')));
        assert.match(text, new RegExp(`curl (?:-X ${method} )?"http://`));
        assert.match(text, new RegExp(`largesse\\.${clientMethods[id]}\\(`));
        for (const call of ['stream_context_create([', 'urlopen(request)']) assert.ok(text.includes(call));
        for (const line of JSON.stringify(response.content.example, null, 2).split('\n'))
          if ('members' in response.content) assert.ok(text.includes(line), line);
      }
      for (const one of names) {
        assert.ok(page.includes(one), `${one} in HTML`);
        assert.match(markdown, new RegExp(`\`${one}\``), `${one} in Markdown`);
      }
    });
  }
});

test('every error code is explained, and its type leads to the explanation', async (t) => {
  const { text } = atBase.pages.get(`${basePath}/docs/errors`) ?? assert.fail();
  for (const [code, { status, title, detail }] of Object.entries(problems)) {
    await t.test(code, async () => {
      assert.ok(textOf(text).includes(`${status} ${title}. ${detail.replaceAll('`', '')}`));
      const redirect = await fetched(`${basePath}/docs/problems/${code}`);
      assert.equal(redirect.status, 302);
      const target = new URL(redirect.headers.get('location') ?? '', `${service.url}/docs/problems/${code}`);
      assert.equal(target.href, `${service.url}/docs/errors#${code}`);
      assert.ok(text.includes(`<h3 id="${code}">`));
    });
  }
});

test('llms.txt has a title, a summary, and a link to every page in sections', () => {
  const received = atRoot.pages.get('/llms.txt') ?? assert.fail();
  assert.equal(received.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.match(received.text, /^# Largesse API\n\n> [^\n]+\n\n/);
  const listed = [...received.text.matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S.*$/gm)].map(([, link = '']) => link);
  const pages = htmlPages(atRoot).map(([path]) => `${path.slice(1)}.md`);
  assert.deepEqual(listed.toSorted(), [...pages.filter((path) => path !== 'docs.md'), 'openapi.json', 'llms-full.txt'].toSorted());
  assert.match(received.text, /^## Guides\n\n- /m);
  const whole = atRoot.pages.get('/llms-full.txt')?.text ?? assert.fail();
  for (const { documentation } of operations) assert.ok(whole.includes(`\n# ${documentation.summary}\n`));
}); // prettier-ignore

type Raw = { readonly status: number; readonly headers: Headers; readonly bytes: Buffer };

/** Sends a request whose response is not decompressed. */
function raw(path: string, headers: Readonly<Record<string, string>>, method = 'GET'): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const request = get(`${origin}${path}`, { headers, method }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: new Headers(response.headers as Record<string, string>),
          bytes: Buffer.concat(chunks),
        }),
      );
    });
    request.on('error', reject);
  });
}

const compressed = [
  '/docs',
  '/docs/errors',
  '/docs/errors.md',
  '/docs/style.css',
  '/docs/script.js',
  '/docs/search.json',
  '/llms.txt',
  '/llms-full.txt',
  '/openapi.json',
];

test('a document is sent with brotli, gzip or unchanged, each with its own ETag', async (t) => {
  for (const path of compressed) {
    await t.test(path, async () => {
      const plain = await raw(path, {});
      assert.equal(plain.headers.get('content-encoding'), null);
      const etags = new Set([plain.headers.get('etag')]);
      for (const [name, decompress] of [
        ['br', brotliDecompressSync],
        ['gzip', gunzipSync],
      ] as const) {
        const { status, headers, bytes } = await raw(path, { 'accept-encoding': name });
        assert.equal(status, 200);
        assert.equal(headers.get('content-encoding'), name);
        assert.ok(decompress(bytes).equals(plain.bytes));
        assert.ok(bytes.length < plain.bytes.length / 1.5, `${bytes.length} of ${plain.bytes.length} bytes`);
        assert.equal(headers.get('content-length'), String(bytes.length));
        etags.add(headers.get('etag'));
      }
      assert.equal(etags.size, 3);
    });
  }
});

test('a document is revalidated by the ETag of its encoding', async (t) => {
  for (const path of compressed) {
    await t.test(path, async () => {
      for (const encoding of ['br', 'gzip', 'identity']) {
        const first = await raw(path, { 'accept-encoding': encoding });
        const etag = first.headers.get('etag') ?? assert.fail();
        assert.match(etag, /^"[\w-]+"$/);
        const again = await raw(path, { 'accept-encoding': encoding, 'if-none-match': `"x", ${etag}` });
        assert.equal(again.status, 304);
        assert.equal(again.bytes.length, 0);
        for (const { headers } of [first, again]) {
          assert.equal(headers.get('etag'), etag);
          assert.equal(headers.get('vary'), 'accept-encoding');
          assert.equal(headers.get('cache-control'), 'no-cache');
        }
        const other = await raw(path, { 'accept-encoding': encoding, 'if-none-match': '"x"' });
        assert.equal(other.status, 200);
        const head = await raw(path, { 'accept-encoding': encoding }, 'HEAD');
        assert.equal(head.status, 200);
        assert.equal(head.bytes.length, 0);
        for (const name of ['etag', 'content-length', 'content-encoding', 'content-type'])
          assert.equal(head.headers.get(name), first.headers.get(name), name);
      }
      const [brotli, plain] = [await raw(path, { 'accept-encoding': 'br' }), await raw(path, {})];
      const mixed = { 'accept-encoding': 'br', 'if-none-match': plain.headers.get('etag') ?? '' };
      assert.equal((await raw(path, mixed)).status, 200);
      assert.notEqual(brotli.headers.get('etag'), plain.headers.get('etag'));
    });
  }
});

test('the search index has every page, heading and field, and its URLs lead to them', async () => {
  type Section = Readonly<Record<'url' | 'page' | 'endpoint' | 'heading' | 'names' | 'text', string>>;
  const sections = JSON.parse((await fetched('/docs/search.json')).text) as readonly Section[];
  for (const { url, page, heading } of sections) {
    const { pathname, hash } = new URL(url, `${origin}/docs/`);
    const { text } = atRoot.pages.get(pathname) ?? assert.fail(url);
    assert.ok(textOf(text).includes(heading === '' ? page : heading), url);
    if (hash !== '') assert.ok(text.includes(` id="${hash.slice(1)}"`), url);
  }
  const shown = new Set(sections.map(({ url }) => new URL(url, `${origin}/docs/`).pathname));
  assert.deepEqual([...shown].toSorted(), htmlPages(atRoot).map(([path]) => path).toSorted()); // prettier-ignore
  for (const { method, path, documentation } of operations) {
    const endpoint = `${method} ${path.replaceAll(/:([a-z_]+)/g, '{$1}')}`;
    const own = sections.filter((section) => section.endpoint === endpoint);
    const names = new Set(own.flatMap((section) => section.names.split(' ')));
    for (const field of Object.keys(documentation.body?.fields ?? {}))
      assert.ok(names.has(field) || own.some(({ text }) => text.includes(field)), `${endpoint}: ${field}`);
  }
});

test('a host that is neither in PUBLIC_URL nor local is in no document, and the script is asked to name it', async () => {
  for (const [host, isKnown] of [
    ['stranger.example', false],
    ['localhost:4000', true],
  ] as const) {
    const { bytes, headers } = await raw('/docs', { host });
    const text = bytes.toString();
    assert.equal(text.includes(host), isKnown);
    assert.equal(text.includes('<body data-unknown-url="http://localhost:3000">'), !isKnown);
    assert.equal(headers.get('cache-control'), 'no-cache');
  }
});

test('the style sheet has the fonts and colors of the pages for staff', async () => {
  const { text } = await fetched('/docs/style.css');
  for (const token of ['--ground', '--ink', '--text', '--figure', '--code', '--s1']) {
    assert.match(text, new RegExp(`^ +${token}: ?`, 'm'));
    assert.match(text, new RegExp(`var\\(${token}\\)`), token);
  }
  const files = Array.from(text.matchAll(/url\(([^)]+)\)/g), ([, file]) => file ?? '');
  assert.equal(files.length, 4);
  for (const file of files) {
    const font = await raw(`/docs/${file}`, { 'accept-encoding': 'br' });
    assert.equal(font.status, 200, file);
    assert.equal(font.headers.get('content-type'), 'font/woff2');
    assert.equal(font.bytes.subarray(0, 4).toString(), 'wOF2');
  }
});

test('an unknown page is a 404', async (t) => {
  for (const path of ['/docs/nowhere', '/docs/', '/docs/index', '/docs/constructor', '/docs/errors.html', '/docs/Errors', '/docs/errors/', '/docs/errors.md.md', '/llms.md', '/docs/%2e%2e', '/docs/a%2fb', '/docs/reference.css']) {
    await t.test(path, async () => {
      const { status, json } = await exchange(service, requestText(`GET ${path}`));
      assert.equal(status, 404);
      assert.equal((json as { readonly type: string }).type, `${basePath}/docs/problems/not-found`);
    });
  }
}); // prettier-ignore

async function externalDocsOf(
  headers: readonly (readonly [string, string])[],
  {
    host = 'localhost:3000',
    from,
    at = service,
  }: { readonly host?: string; readonly from?: string; readonly at?: Pick<TestService, 'url'> } = {},
): Promise<string> {
  const text = requestText('GET /openapi.json', headers).replace(/Host: [^\r]*/, `Host: ${host}`);
  const received = await exchange(at, text, from === undefined ? undefined : { from });
  assert.equal(received.status, 200);
  return (received.json as { readonly externalDocs: { readonly url: string } }).externalDocs.url;
}

const strangers = ['evil.example', 'evil.example:8443', 'localhost.evil.example', '192.0.2.1', 'a/b', 'a"b', 'a b', 'user@localhost', 'localhost:x', '']; // prettier-ignore

test('without PUBLIC_URL, the OpenAPI document links to this machine by the name that the client uses, or without one', async () => {
  assert.equal(await externalDocsOf([]), `http://localhost:3000${basePath}/docs`);
  assert.equal(await externalDocsOf([], { host: 'LocalHost:8443' }), `http://localhost:8443${basePath}/docs`);
  assert.equal(await externalDocsOf([], { host: '[::1]:3000' }), `http://[::1]:3000${basePath}/docs`);
  const https = [['X-Forwarded-Proto', 'https']] as const;
  assert.equal(await externalDocsOf(https), `http://localhost:3000${basePath}/docs`);
  assert.equal(await externalDocsOf(https, { from: '127.0.0.2' }), `https://localhost:3000${basePath}/docs`);
  const chain = [['X-Forwarded-Proto', 'https, http']] as const;
  assert.equal(await externalDocsOf(chain, { from: '127.0.0.2' }), `https://localhost:3000${basePath}/docs`);
  for (const host of strangers) assert.equal(await externalDocsOf([], { host }), `${basePath}/docs`, host);
}); // prettier-ignore

test('with PUBLIC_URL, every document has it and none has the Host that the client sends', async () => {
  const environment = { BASE_PATH: basePath, PUBLIC_URL: 'https://cards.flowers.example' };
  await using published = await startService({ environment });
  for (const host of ['cards.flowers.example', 'localhost:3000', ...strangers])
    assert.equal(
      await externalDocsOf([], { host, at: published }),
      `https://cards.flowers.example${basePath}/docs`,
      host,
    );
  for (const path of ['/docs', '/llms-full.txt']) {
    const text = requestText(`GET ${path}`).replace(/Host: [^\r]*/, 'Host: evil.example');
    const received = await exchange(published, text);
    assert.equal(received.status, 200, path);
    assert.ok(!received.text.includes('evil.example'), path);
    assert.ok(received.text.includes('https://cards.flowers.example'), path);
  }
});

test('clients that invent ports do not make the service generate more than a few documents', async () => {
  const urls: string[] = [];
  for (let port = 1; port <= 20; port += 1)
    urls.push(await externalDocsOf([], { host: `localhost:${port}` }));
  const path = `${basePath}/docs`;
  assert.equal(urls.at(-1), path);
  assert.ok(urls.filter((url) => url !== path).length < 8);
  assert.equal(await externalDocsOf([]), `http://localhost:3000${path}`);
});
