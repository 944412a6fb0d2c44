/** An email as plain text. */

import type { Frame } from './page.ts';
import type { Block, Fact } from './template.ts';
import { plainOf } from './translate.ts';

/** The lines end in newlines and have any length: the encoding of the message wraps them. */
export function plain(blocks: readonly Block[], frame: Frame): string {
  // Right-to-left text keeps the isolates, so that its values stay in order.
  const text = frame.direction === 'rtl' ? (isolated: string) => isolated : plainOf;
  const { place, phone, website, hours, terms } = frame.identity;
  const reached = [...place, phone, website, ...hours].filter((line) => line !== null);
  const footer = [
    [frame.storeName, ...reached].join('\n'),
    text(frame.contact),
    ...(terms ? [`${text(terms.text)}:\n${terms.url}`] : []),
    text(frame.automatic),
    ...(frame.unsubscribe ? [`${text(frame.unsubscribe.text)}:\n${frame.unsubscribe.url}`] : []),
  ];
  // Two hyphens and a space: mail clients recognize the start of a signature.
  const parts = [frame.storeName, ...blocks.map((block) => linesOf(block, text)), '-- ', ...footer];
  return `${parts.join('\n\n').replace('-- \n\n', '-- \n')}\n`;
}

function linesOf(block: Block, text: (isolated: string) => string): string {
  switch (block.block) {
    case 'heading':
    case 'paragraph':
    case 'note':
    case 'closing':
      return text(block.text);
    case 'card':
      return [
        text(block.title),
        ...(block.ending ? [factLine(block.ending, text)] : []),
        factLine({ label: block.label, value: block.amount }, text),
        ...(block.caption ? [text(block.caption)] : []),
      ].join('\n');
    case 'message':
      // Every line is quoted, so a line of the buyer cannot look like the store's.
      return [
        `${text(block.label)}:\n${block.message.replaceAll(/^/gm, '> ')}`,
        ...(block.signed ? [factLine(block.signed, text)] : []),
      ].join('\n\n');
    case 'document':
      return `${text(block.label)}\n\n${block.document}`;
    case 'code':
      // On its own line the code keeps its order in right-to-left emails without invisible characters, which
      // would be copied with it.
      return `${text(block.label)}:\n${block.code}\n\n${text(block.hint)}`;
    case 'facts':
      return block.facts.map((fact) => factLine(fact, text)).join('\n');
    case 'button':
      return `${text(block.text)}:\n${block.url}`;
  }
}

function factLine({ label, value }: Fact, text: (isolated: string) => string): string {
  return `${text(label)}: ${text(value)}`;
}
