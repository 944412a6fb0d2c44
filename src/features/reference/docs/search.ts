/** The index that the script of the pages searches: the words of each section of each page. */

import { anchorOf, urlOf, type FieldRow, type PageBlock, type ReferencePage } from './content.ts';

/** A page up to its first heading, or a heading with the text below it. */
export type SearchedSection = {
  /** Relative to `/docs/`. */
  readonly url: string;
  /** The title of the page. */
  readonly page: string;
  /** The method and path of an operation; empty on other pages. */
  readonly endpoint: string;
  readonly heading: string;
  /** The names of the fields, parameters, headers and error codes. */
  readonly names: string;
  readonly text: string;
};

const place = { folder: 'docs', extension: '' } as const;

export function searchedSections(page: ReferencePage): readonly SearchedSection[] {
  const { name, title, endpoint } = page;
  const url = name === '' ? urlOf('/docs', place) : name;
  const sections: { heading: string; names: string[]; text: string[] }[] = [
    { heading: '', names: [], text: [page.note] },
  ];
  for (const { heading, names, text } of page.blocks.flatMap(partsOf)) {
    if (heading !== '') sections.push({ heading, names: [], text: [] });
    sections.at(-1)?.names.push(...names);
    sections.at(-1)?.text.push(text);
  }
  return sections.map(({ heading, names, text }) => ({
    url: heading === '' ? url : `${url}#${anchorOf(heading)}`,
    page: title,
    endpoint: endpoint ? `${endpoint.method} ${endpoint.path}` : '',
    heading,
    names: names.join(' '),
    text: wordsOf(text.join(' ')),
  }));
}

type Part = { readonly heading: string; readonly names: readonly string[]; readonly text: string };

function partsOf(block: PageBlock): readonly Part[] {
  switch (block.kind) {
    case 'text':
      return block.text.split(/^(?=##)/m).map((part) => {
        const [first = '', ...rest] = part.split('\n');
        const heading = /^###? (.*)$/.exec(first)?.[1];
        return heading === undefined
          ? { heading: '', names: [], text: part }
          : { heading, names: [], text: rest.join(' ') };
      });
    case 'rows':
      return [
        { heading: '', names: namesOf(block.rows), text: block.rows.map(({ text }) => text).join(' ') },
      ];
    case 'links':
    case 'sample':
    case 'samples':
      return [];
  }
}

function namesOf(rows: readonly FieldRow[]): readonly string[] {
  return rows.flatMap(({ name, rows: inner = [] }) => [name, ...namesOf(inner)]);
}

/** A text without the marks of Markdown. */
function wordsOf(text: string): string {
  return text
    .replaceAll(/\]\([^()\s]+\)/g, '')
    .replaceAll(/[`*[]|^- /gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
