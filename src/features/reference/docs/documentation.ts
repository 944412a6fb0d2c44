/** Every document of the API's documentation, by its path. */

import assert from 'node:assert/strict';
import type { ServedDocumentation, ServedDocument } from '../../../http/documents.ts';
import { readProgramFile } from '../../../platform/program-files.ts';
import { pageHtml } from './html.ts';
import { pageMarkdown, withUrls } from './markdown.ts';
import { openApiDocument } from './openapi.ts';
import { baseUrlOf } from './operation.ts';
import { allPages } from './pages.ts';
import type { ReferencePage } from './content.ts';
import { searchedSections } from './search.ts';
import { referenceStyle } from './style.ts';
import * as texts from './texts.ts';

/** The fonts, sizes and colors of the pages for staff, which the reference has as well. */
const consoleFolder = 'pages/assets';

/** The files of the fonts, next to the style sheets. */
const consoleFonts = [
  'instrument-sans.woff2',
  'instrument-sans-more.woff2',
  'fraunces.woff2',
  'fraunces-more.woff2',
] as const;

const html = 'text/html; charset=utf-8';
const markdown = 'text/markdown; charset=utf-8';
const plain = 'text/plain; charset=utf-8';
const json = 'application/json; charset=utf-8';
const script = 'text/javascript; charset=utf-8';

/** The parts that only the pages of a sandbox have. */
export type DocumentedSandbox = {
  /** Its token, for samples; null: the service can be reached from other machines. */
  readonly token: string | null;
};

/**
 * The documentation of a service. Each document is generated when it is first requested.
 * @param service.origin its scheme and host; empty if unknown.
 */
export function documentationOf({
  basePath,
  origin,
  sandbox = null,
}: {
  readonly basePath: string;
  readonly origin: string;
  /** Null: the service is live. */
  readonly sandbox?: DocumentedSandbox | null;
}): ServedDocumentation {
  const token = sandbox?.token ?? null;
  const pages = allPages({ baseUrl: baseUrlOf({ origin, basePath }), token });
  const makersOf = makerOf({ isSandbox: sandbox !== null, isOriginKnown: origin !== '' });
  const whole = (): string =>
    pages.map((page) => pageMarkdown(page, { folder: 'root', extension: '.md' })).join('\n');
  const makers = new Map<string, Maker>([
    ...pages.flatMap(makersOf),
    [
      '/docs/script.js',
      () => ({ type: script, content: readProgramFile('features/reference/docs/assets/reference.js') }),
    ],
    ...(token === null
      ? []
      : ([
          [
            '/docs/run.js',
            () => ({ type: script, content: readProgramFile('features/reference/docs/assets/run.js') }),
          ],
        ] as const)),
    ['/docs/search.json', () => ({ type: json, content: JSON.stringify(pages.flatMap(searchedSections)) })],
    ['/docs/style.css', () => ({ type: 'text/css; charset=utf-8', content: consoleLook() + referenceStyle })],
    ...consoleFonts.map(
      (name) =>
        [
          `/docs/${name}`,
          () => ({ type: 'font/woff2', content: readProgramFile(`${consoleFolder}/${name}`) }),
        ] as const,
    ),
    [
      '/openapi.json',
      () => ({ type: json, content: JSON.stringify(openApiDocument(basePath, origin), null, 2) }),
    ],
    ['/llms.txt', () => ({ type: plain, content: llmsText(pages) })],
    ['/llms-full.txt', () => ({ type: plain, content: whole() })],
  ]);
  const documents = new Map<string, ServedDocument>();
  return {
    find(path) {
      const document = documents.get(path) ?? makers.get(path)?.();
      if (document) documents.set(path, document);
      return document;
    },
  };
}

type Maker = () => ServedDocument;

function makerOf(service: Parameters<typeof pageHtml>[2]) {
  return (
    page: ReferencePage,
    _index: number,
    pages: readonly ReferencePage[],
  ): readonly (readonly [string, Maker])[] => {
    const isIndex = page.name === '';
    const path = isIndex ? '/docs' : `/docs/${page.name}`;
    const place = { folder: isIndex ? 'root' : 'docs', extension: '.md' } as const;
    return [
      [path, () => ({ type: html, content: pageHtml(page, pages, service) })],
      [`${path}.md`, () => ({ type: markdown, content: pageMarkdown(page, place) })],
    ];
  };
}

/** The list of all pages for language models, in the format of https://llmstxt.org. */
function llmsText(pages: readonly ReferencePage[]): string {
  const place = { folder: 'root', extension: '.md' } as const;
  const groups = Map.groupBy(pages, ({ group }) => group);
  const sections = [...groups]
    .filter(([group]) => group !== '')
    .map(([group, members]) => {
      const links = members.map(({ name, title, note }) => `- [${title}](${name}): ${note}`);
      return withUrls(`## ${group}\n\n${links.join('\n')}`, place);
    });
  return [
    '# Largesse API',
    `> ${texts.introduction}`,
    `All paths are relative to the URL of the service. Start with ${withUrls('[the overview](/docs)', place)}.`,
    ...sections,
    withUrls(
      '## Optional\n\n- [OpenAPI 3.1 document](/openapi.json): every operation with its schemas\n- [All pages](/llms-full.txt): this documentation in one file',
      place,
    ),
  ].join('\n\n');
}

/** The rules of the style sheet of the pages that declare its fonts and tokens. */
function consoleLook(): string {
  const sheet = readProgramFile(`${consoleFolder}/largesse.css`).toString();
  const fonts = sheet.match(/^@font-face \{.*?^\}$/gms) ?? [];
  const [tokens] = /^@layer tokens \{.*?^\}$/ms.exec(sheet) ?? [];
  assert.ok(fonts.length > 0 && tokens !== undefined, 'the style sheet of the pages has fonts and tokens');
  return [...fonts, tokens, ''].join('\n');
}
