/**
 * The subset of Markdown in the API descriptions: paragraphs, `##` headings, `-` and `1.` lists of one level, fenced
 * code, and inline `code`, **bold** and [links](#anchor). HTML in the text is escaped.
 */
import { anchorOf, joinMarkup, linkAddress, markup } from './markup.ts';
import type { Markup } from './markup.ts';

type Block =
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'heading'; readonly depth: number; readonly text: string }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly items: readonly string[] }
  | { readonly kind: 'code'; readonly text: string };

/** The level that `#` and `##` become (`###` is one deeper), and the prefix of the headings' ids. */
export interface HeadingPlace {
  readonly level: 3 | 4;
  readonly anchor: string;
}

const FENCE = /^\s*```/;
const HEADING = /^(#{1,4})\s+(.*?)\s*#*$/;
const ITEM = /^\s{0,3}(?:[-*+]|(\d{1,3})[.)])\s+(.*)$/;
const INLINE = /`([^`]+)`|\*\*([^*]+(?:\*[^*]+)*)\*\*|\[([^\]]+)\]\(([^()\s]+)\)/g;

/** The content of one line or paragraph, without the `<p>`. */
export function renderInline(text: string): Markup {
  const parts: (Markup | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    const [, code, bold, label, address] = match;
    if (code !== undefined) parts.push(markup`<code>${code}</code>`);
    else if (bold !== undefined) parts.push(markup`<strong>${renderInline(bold)}</strong>`);
    else if (label !== undefined && address !== undefined) parts.push(link(label, address));
  }
  return joinMarkup([...parts, text.slice(end)], '');
}

function link(label: string, address: string): Markup {
  const href = linkAddress(address);
  return href === undefined ? renderInline(label) : markup`<a href="${href}">${renderInline(label)}</a>`;
}

/** The whole text as block elements. Without `headings`, headings are small and have no id. */
export function renderMarkdown(text: string, headings?: HeadingPlace): Markup {
  return joinMarkup(
    parse(text).map((block) => renderBlock(block, headings)),
    '\n',
  );
}

/** The `#` and `##` headings of a text with the ids from `renderMarkdown`, for a table of contents. */
export function headingsOf(text: string, anchor: string): readonly { text: string; anchor: string }[] {
  return parse(text).flatMap((block) =>
    block.kind === 'heading' && block.depth <= 2
      ? [{ text: block.text, anchor: headingAnchor(anchor, block.text) }]
      : [],
  );
}

/** Splits a text into its first paragraph and the rest; both can be empty. */
export function splitLead(text: string): { readonly lead: string; readonly rest: string } {
  const [lead = '', ...rest] = text.trim().split(/\n\s*\n/);
  if (FENCE.test(lead) || HEADING.test(lead) || ITEM.test(lead)) return { lead: '', rest: text };
  return { lead, rest: rest.join('\n\n') };
}

function headingAnchor(anchor: string, text: string): string {
  return anchorOf(anchor, text.toLowerCase());
}

function renderBlock(block: Block, headings: HeadingPlace | undefined): Markup {
  switch (block.kind) {
    case 'paragraph':
      return markup`<p>${renderInline(block.text)}</p>`;
    case 'heading':
      return heading(block, headings);
    case 'list': {
      const items = block.items.map((item) => markup`<li>${renderInline(item)}</li>`);
      return block.ordered ? markup`<ol>${items}</ol>` : markup`<ul>${items}</ul>`;
    }
    case 'code':
      return markup`<pre tabindex="0"><code>${block.text}</code></pre>`;
  }
}

function heading(block: Block & { kind: 'heading' }, place: HeadingPlace | undefined): Markup {
  const text = renderInline(block.text);
  if (place === undefined) return markup`<h5>${text}</h5>`;
  // `#` is rendered as `##`, because the page already has a title.
  const level = place.level + Math.max(0, block.depth - 2);
  return markup`<h${level} id="${headingAnchor(place.anchor, block.text)}">${text}</h${level}>`;
}

function parse(text: string): readonly Block[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const { block, next } = blockAt(lines, at);
    if (block !== undefined) blocks.push(block);
    at = next;
  }
  return blocks;
}

/** The block at line `at`, and the next line, which is always after `at`. A blank line has no block. */
function blockAt(lines: readonly string[], at: number): { block: Block | undefined; next: number } {
  const line = lines[at] ?? '';
  if (line.trim() === '') return { block: undefined, next: at + 1 };
  if (FENCE.test(line)) {
    const close = lines.findIndex((other, index) => index > at && FENCE.test(other));
    const end = close === -1 ? lines.length : close;
    return { block: { kind: 'code', text: lines.slice(at + 1, end).join('\n') }, next: end + 1 };
  }
  const [, marks, title] = HEADING.exec(line) ?? [];
  if (marks !== undefined && title !== undefined) {
    return { block: { kind: 'heading', depth: marks.length, text: title }, next: at + 1 };
  }
  return ITEM.test(line) ? listAt(lines, at) : paragraphAt(lines, at);
}

function paragraphAt(lines: readonly string[], at: number): { block: Block; next: number } {
  let next = at + 1;
  while (next < lines.length && !startsBlock(lines[next] ?? '')) next += 1;
  const text = lines
    .slice(at, next)
    .map((line) => line.trim())
    .join('\n');
  return { block: { kind: 'paragraph', text }, next };
}

function listAt(lines: readonly string[], at: number): { block: Block; next: number } {
  const items: string[] = [];
  const ordered = ITEM.exec(lines[at] ?? '')?.[1] !== undefined;
  let next = at;
  for (; next < lines.length; next += 1) {
    const line = lines[next] ?? '';
    const [, , item] = ITEM.exec(line) ?? [];
    if (item !== undefined) items.push(item);
    else if (startsBlock(line)) break;
    else items.push(`${items.pop() ?? ''}\n${line.trim()}`);
  }
  return { block: { kind: 'list', ordered, items }, next };
}

function startsBlock(line: string): boolean {
  return line.trim() === '' || FENCE.test(line) || HEADING.test(line) || ITEM.test(line);
}
