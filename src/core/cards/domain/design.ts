/** The designs of a card: a drawing on a ground, and the color of the text on its calm side. */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';

/** In the order in which people choose. */
export const cardDesigns = [
  'plain',
  'birthday',
  'thank_you',
  'wedding',
  'baby',
  'winter',
  'well_done',
  'love',
] as const;

export type CardDesign = (typeof cardDesigns)[number];

/** A design with a drawing. The plain one has the color of the store. */
export type PicturedDesign = Exclude<CardDesign, 'plain'>;

type Colors = { readonly ground: `#${string}`; readonly ink: `#${string}` };

/** The style sheet and the drawings of the pages have the same colors. */
export const designColors: Readonly<Record<PicturedDesign, Colors>> = {
  birthday: { ground: '#f7d3c2', ink: '#4a1524' },
  thank_you: { ground: '#ece7d6', ink: '#1e3a2b' },
  wedding: { ground: '#f4eee2', ink: '#40362a' },
  baby: { ground: '#cfe2ea', ink: '#17384b' },
  winter: { ground: '#15263f', ink: '#ffffff' },
  well_done: { ground: '#2c2352', ink: '#ffffff' },
  love: { ground: '#9f1f38', ink: '#ffffff' },
};

export function parseDesign(value: unknown): Parsed<CardDesign> {
  const design = cardDesigns.find((each) => each === value);
  return design === undefined
    ? rejected(`must be ${cardDesigns.slice(0, -1).join(', ')} or ${cardDesigns.at(-1) ?? ''}`)
    : accepted(design);
}

/** The design of a card. @param design its own; null: that of the store. */
export function designOf(design: string | null, ofStore: CardDesign): CardDesign {
  return cardDesigns.find((each) => each === design) ?? ofStore;
}
