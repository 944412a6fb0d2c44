/** A page as HTML: with relative URLs only, so that it works below any base path. Its script adds search and copy buttons. */

import { joinMarkup, markup, type MarkupPart, type Markup } from '../../../platform/markup.ts';
import { version } from '../../../platform/version.ts';
import {
  urlOf,
  type PageBlock,
  type ReferencePage,
  type Place,
  type FieldRow,
  type CodeSample,
  type CodeSamples,
} from './content.ts';
import { sandboxNotice } from '../../../core/domain/sandbox.ts';
import { inlineHtml, textHtml } from './markdown.ts';
import { unknownServiceUrl } from './operation.ts';

/** The page with the navigation to all pages. */
export function pageHtml(
  page: ReferencePage,
  pages: readonly ReferencePage[],
  { isSandbox, isOriginKnown }: { readonly isSandbox: boolean; readonly isOriginKnown: boolean },
): string {
  const banner = isSandbox
    ? markup`<p class="sandbox" role="note">${sandboxNotice('en')}</p>
`
    : undefined;
  const isIndex = page.name === '';
  // The script writes the URL that the browser uses: the server cannot know it without trusting the header Host.
  const unknown = isOriginKnown ? undefined : markup` data-unknown-url="${unknownServiceUrl}"`;
  const place: Place = { folder: isIndex ? 'root' : 'docs', extension: '' };
  const twin = urlOf(isIndex ? '/docs' : page.name, { ...place, extension: '.md' });
  const { title, note, samples } = page;
  const [about, ...rest] = page.blocks;
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${note}">
<title>${isIndex ? title : `${title} · Largesse API`}</title>
<link rel="stylesheet" href="${urlOf('/docs/style.css', place)}">
<script type="module" src="${urlOf('/docs/script.js', place)}"></script>
${
  samples.some(isRunnable) || page.blocks.some(isRunnable)
    ? markup`<script type="module" src="${urlOf('/docs/run.js', place)}"></script>
`
    : undefined
}<link rel="icon" href="data:,">
<link rel="alternate" type="text/markdown" href="${twin}">
</head>
<body${unknown}>
<a class="skip" href="#content">Skip to the content</a>
<nav class="side" aria-label="All pages">
<a class="home" href="${urlOf('/docs', place)}"${isIndex ? markup` aria-current="page"` : undefined}>Largesse <span>API ${version}</span></a>
<div class="search"></div>
<details><summary>All pages</summary>
${navigation(page, pages, place)}</details>
</nav>
<main id="content" class="${samples.length > 0 ? 'wide' : 'narrow'}">
${banner}<article>
<header>
${isIndex ? undefined : markup`<p class="group">${page.group}</p>`}
<h1>${title}</h1>
${page.endpoint && markup`<p class="endpoint">${methodBadge(page.endpoint.method)} <code>${breakable(page.endpoint.path)}</code></p>`}
${about && blockHtml(about, place)}
</header>
${samplesHtml(samples)}
<div class="text">
${joinMarkup(
  rest.map((block) => blockHtml(block, place)),
  '\n',
)}
</div>
</article>
<footer>
${neighbors(page, pages, place)}
<p><a href="${twin}">This page as Markdown</a> · <a href="${urlOf('/openapi.json', place)}">OpenAPI</a> · <a href="${urlOf('/llms.txt', place)}">llms.txt</a></p>
</footer>
</main>
</body>
</html>
`.toString();
}

function navigation(
  current: ReferencePage,
  pages: readonly ReferencePage[],
  place: Place,
): readonly Markup[] {
  const groups = Map.groupBy(
    pages.filter(({ name }) => name !== ''),
    ({ group }) => group,
  );
  return [...groups].map(([group, members]) => {
    const links = members.map(({ name, title, endpoint }) => {
      const state = name === current.name ? markup` aria-current="page"` : undefined;
      const badge = endpoint && markup` ${methodBadge(endpoint.method)}`;
      return markup`<li><a href="${urlOf(name, place)}"${state}><span>${title}</span>${badge}</a></li>\n`;
    });
    return markup`<p>${group}</p>\n<ul>${links}</ul>\n`;
  });
}

/** Links to the pages before and after this one. */
function neighbors({ name }: ReferencePage, pages: readonly ReferencePage[], place: Place): Markup {
  const at = pages.findIndex((page) => page.name === name);
  const link = (page: ReferencePage | undefined, relation: 'prev' | 'next'): MarkupPart =>
    page && page.name !== ''
      ? markup`<a rel="${relation}" href="${urlOf(page.name, place)}">${page.title}</a>`
      : undefined;
  const previous = at > 0 ? link(pages[at - 1], 'prev') : undefined;
  return markup`<nav aria-label="Neighboring pages">${previous}${link(pages[at + 1], 'next')}</nav>`;
}

function methodBadge(method: string): Markup {
  return markup`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/** A path that can break after each slash. */
function breakable(path: string): Markup {
  return joinMarkup(path.split('/'), markup`/<wbr>`);
}

function blockHtml(block: PageBlock, place: Place): Markup {
  switch (block.kind) {
    case 'text':
      return textHtml(block.text, place);
    case 'rows': {
      const rows = rowsHtml(block.rows, place);
      return block.folded === undefined
        ? rows
        : markup`<details class="more"><summary>${inlineHtml(block.folded, place)}</summary>${rows}</details>`;
    }
    case 'links': {
      const items = block.links.map(({ target, title, note, method }) => {
        const shown =
          method === undefined
            ? inlineHtml(note, place)
            : markup`${methodBadge(method)} <code>${breakable(note)}</code>`;
        return markup`<li><a href="${urlOf(target, place)}">${title}</a> <span>${shown}</span></li>\n`;
      });
      return markup`<ul class="links">${items}</ul>`;
    }
    case 'sample':
      return sampleHtml(block);
    case 'samples':
      return languagesHtml(block);
  }
}

function rowsHtml(rows: readonly FieldRow[], place: Place): Markup {
  return markup`<ul class="rows">${rows.map((row) => rowHtml(row, place))}</ul>`;
}

function rowHtml({ name, target, type, presence, text, rows = [] }: FieldRow, place: Place): Markup {
  const code = markup`<code>${name}</code>`;
  return markup`<li>
<p class="name">${target === undefined ? code : markup`<a href="${urlOf(target, place)}">${code}</a>`}${type === '' ? undefined : markup` <span class="type">${inlineHtml(type, place)}</span>`}${presence && markup` <span class="${presence}">${presence}</span>`}</p>
${text === '' ? undefined : markup`<p>${inlineHtml(text, place)}</p>`}${
    rows.length > 0
      ? markup`<details class="more"><summary>Fields of <code>${name}</code></summary>${rowsHtml(rows, place)}</details>`
      : undefined
  }</li>
`;
}

function samplesHtml(samples: ReferencePage['samples']): Markup | undefined {
  if (samples.length === 0) return undefined;
  return markup`<aside class="samples" aria-label="Example">${samples.map((one) => (one.kind === 'sample' ? sampleHtml(one) : languagesHtml(one)))}</aside>`;
}

/** Whether a sample can be sent from the page, with a script that only a sandbox has. */
function isRunnable(block: PageBlock): boolean {
  return block.kind === 'samples' && block.run !== undefined;
}

/** One language is open at a time, also without the script. */
function languagesHtml({ caption, samples, run }: CodeSamples): Markup {
  const languages = samples.map(
    ({ caption: name, code }, index) =>
      markup`<details name="languages"${index === 0 ? markup` open` : undefined}><summary>${name}</summary><pre tabindex="0" aria-label="${caption}, ${name}"><code>${code}</code></pre></details>
`,
  );
  const data = run && markup` data-run="${JSON.stringify(run)}"`;
  return markup`<figure class="languages"${data}><figcaption>${caption}</figcaption>${languages}</figure>
`;
}

/** A wide sample scrolls horizontally, so it must be focusable. */
function sampleHtml({ caption, language, code }: CodeSample): Markup {
  const shown = language === 'json' ? highlighted(code) : markup`${code}`;
  return markup`<figure><figcaption>${caption}</figcaption><pre tabindex="0" aria-label="${caption}"><code>${shown}</code></pre></figure>
`;
}

const jsonToken = /("(?:\\.|[^"\\])*")(\s*:)?|-?\b\d[\d.]*\b|\b(?:true|false|null)\b/g;

/** JSON text with marked names, strings and other values. */
function highlighted(json: string): Markup {
  const parts: MarkupPart[] = [];
  let end = 0;
  for (const match of json.matchAll(jsonToken)) {
    parts.push(json.slice(end, match.index));
    end = match.index + match[0].length;
    const [token, text, colon] = match;
    if (text === undefined) parts.push(markup`<span class="v">${token}</span>`);
    else if (colon === undefined) parts.push(markup`<span class="s">${text}</span>`);
    else parts.push(markup`<span class="k">${text}</span>${colon}`);
  }
  return joinMarkup([...parts, json.slice(end)], '');
}
