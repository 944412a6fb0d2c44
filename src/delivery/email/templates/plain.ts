/** The plain-text part: every block as lines. */

import { plainOf, type Phrase } from '../phrase.ts';
import type { Block, Fact } from './blocks.ts';
import type { Frame } from './page.ts';

/** A mail as text. Lines end in newlines; whoever sends it encodes it, so that their length does not matter. */
export function plain(blocks: readonly Block[], frame: Frame): string {
  const text = (phrase: Phrase): string => plainOf(phrase, { isolating: frame.direction === 'rtl' });
  const footer = [
    text(frame.contact),
    text(frame.automatic),
    ...(frame.unsubscribe ? [`${text(frame.unsubscribe.text)}:\n${frame.unsubscribe.url}`] : []),
  ];
  // The two hyphens and a space that mail clients know as the start of a signature.
  const parts = [frame.storeName, ...blocks.map((block) => linesOf(block, text)), '-- ', ...footer];
  return `${parts.join('\n\n').replace('-- \n\n', '-- \n')}\n`;
}

function linesOf(block: Block, text: (phrase: Phrase) => string): string {
  switch (block.block) {
    case 'heading':
    case 'paragraph':
    case 'note':
      return text(block.text);
    case 'card':
      return [
        text(block.title),
        ...(block.ending ? [factLine(block.ending, text)] : []),
        factLine({ label: block.label, value: [block.amount] }, text),
        ...(block.caption ? [text(block.caption)] : []),
      ].join('\n');
    case 'message':
      // A mark before every line says where the buyer speaks: no line of theirs can pass for the store's.
      return `${text(block.label)}:\n${block.message.replaceAll(/^/gm, '> ')}`;
    case 'code':
      // On a line of its own the code keeps its order in right-to-left mails without invisible characters,
      // which would be copied with it.
      return `${text(block.label)}:\n${block.code}\n\n${text(block.hint)}`;
    case 'facts':
      return block.facts.map((fact) => factLine(fact, text)).join('\n');
    case 'button':
      return `${text(block.text)}:\n${block.url}`;
  }
}

function factLine({ label, value }: Fact, text: (phrase: Phrase) => string): string {
  return `${text(label)}: ${text(value)}`;
}
