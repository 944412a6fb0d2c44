/** A page as Markdown, and the Markdown of texts as HTML: the subset that `content.ts` names. */

import { joinMarkup, markup, type Markup } from '../../../platform/markup.ts';
import { anchorOf, urlOf, type PageBlock, type ReferencePage, type Place, type FieldRow } from './content.ts';

const inline = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(([^()\s]+)\)/g;

/** One line of Markdown as HTML. Everything that is not in the subset is escaped. */
export function inlineHtml(line: string, place: Place): Markup {
  const parts: (Markup | string)[] = [];
  let end = 0;
  for (const match of line.matchAll(inline)) {
    parts.push(line.slice(end, match.index));
    end = match.index + match[0].length;
    const [, code, bold, label, target] = match;
    if (code !== undefined) parts.push(markup`<code>${code}</code>`);
    else if (bold !== undefined) parts.push(markup`<strong>${inlineHtml(bold, place)}</strong>`);
    else if (label !== undefined && target !== undefined)
      parts.push(markup`<a href="${urlOf(target, place)}">${inlineHtml(label, place)}</a>`);
  }
  return joinMarkup([...parts, line.slice(end)], '');
}

/** Text as HTML. Each heading has an id. */
export function textHtml(text: string, place: Place): Markup {
  const parts = text.split(/^```(?:\w*)\n([^]*?)\n```$/m);
  const blocks = parts.flatMap((part, index): readonly Markup[] =>
    // Every second part is code.
    index % 2 === 1
      ? [markup`<pre tabindex="0"><code>${part}</code></pre>`]
      : part
          .split(/\n{2,}/)
          .filter((block) => block.trim() !== '')
          .map((block) => blockHtml(block.trim(), place)),
  );
  return joinMarkup(blocks, '\n');
}

function blockHtml(block: string, place: Place): Markup {
  const [, marks, heading] = /^(##|###) (.*)$/.exec(block) ?? [];
  if (marks !== undefined && heading !== undefined) {
    const id = anchorOf(heading);
    const content = markup`<a href="#${id}">${inlineHtml(heading, place)}</a>`;
    return marks === '##' ? markup`<h2 id="${id}">${content}</h2>` : markup`<h3 id="${id}">${content}</h3>`;
  }
  if (!block.startsWith('- ')) return markup`<p>${inlineHtml(block, place)}</p>`;
  const items = block
    .split('\n')
    .map((item) => markup`<li>${inlineHtml(item.slice('- '.length), place)}</li>`);
  return markup`<ul>${items}</ul>`;
}

const links = /\]\(([^()\s]+)\)/g;

/** The text with the URLs of its links. */
export function withUrls(text: string, place: Place): string {
  return text.replaceAll(links, (_, target: string) => `](${urlOf(target, place)})`);
}

/** The whole page as Markdown. */
export function pageMarkdown({ title, endpoint, blocks, samples }: ReferencePage, place: Place): string {
  const parts = [
    `# ${title}`,
    ...(endpoint ? [`\`${endpoint.method} ${endpoint.path}\``] : []),
    ...blocks.map((block) => blockMarkdown(block, place)),
    ...(samples.length > 0 ? ['## Example', ...samples.map((sample) => blockMarkdown(sample, place))] : []),
  ];
  return `${parts.join('\n\n')}\n`;
}

function blockMarkdown(block: PageBlock, place: Place): string {
  switch (block.kind) {
    case 'text':
      return withUrls(block.text, place);
    case 'rows': {
      const rows = block.rows.map((row) => rowMarkdown(row, place)).join('\n');
      return block.folded === undefined ? rows : `${block.folded}:\n\n${rows}`;
    }
    case 'links':
      return block.links
        .map(({ target, title, note, method }) => {
          const shown = method === undefined ? note : `\`${method} ${note}\``;
          return `- [${title}](${urlOf(target, place)}): ${shown}`;
        })
        .join('\n');
    case 'samples':
      return block.samples
        .map((sample) => {
          const caption = `${block.caption}, ${sample.caption}`;
          return blockMarkdown({ ...sample, caption }, place);
        })
        .join('\n\n');
    case 'sample':
      return `${block.caption}:\n\n\`\`\`${block.language}\n${block.code.trimEnd()}\n\`\`\``;
  }
}

function rowMarkdown(
  { name, target, type, presence, text, rows = [] }: FieldRow,
  place: Place,
  indent = '',
): string {
  const shown = target === undefined ? `\`${name}\`` : `[\`${name}\`](${urlOf(target, place)})`;
  const notes = [type, presence].filter((note) => note !== undefined && note !== '').join(', ');
  const about = text === '' ? '' : `: ${withUrls(text, place)}`;
  const line = `${indent}- ${shown}${notes === '' ? '' : ` (${withUrls(notes, place)})`}${about}`;
  return [line, ...rows.map((row) => rowMarkdown(row, place, `${indent}  `))].join('\n');
}
