/** The drawing of a card, the designs with their drawings, and the choice of one with pictures. */

import { cardDesigns, type CardDesign } from '../../core/cards/domain/design.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import type { Brand } from './brand.ts';
import type { ConsoleServices } from './services.ts';

type Frame = ConsoleServices['frame'];

const knot = markup`<svg class="knot" viewBox="0 0 48 48" aria-hidden="true"><path d="M24 24C12 6 2 13 8 20c4 4 11 4 16 4 5 0 12 0 16-4 6-7-4-14-16 4zM24 24c-3 7-7 11-11 15M24 24c3 7 7 11 11 15"/></svg>`;

/** The class of a design in the style sheet, and the name of its drawing; null: the ribbon in the color of the store. */
const classes: Readonly<Record<CardDesign, string | null>> = {
  plain: null,
  birthday: 'design-birthday',
  thank_you: 'design-thank-you',
  wedding: 'design-wedding',
  baby: 'design-baby',
  winter: 'design-winter',
  well_done: 'design-well-done',
  love: 'design-love',
};

/** A design with a drawing. */
export type Drawing = {
  /** The class that sets the ground, and the color of the text. */
  readonly kind: string;
  /** The URL of the drawing. */
  readonly url: string;
};

/** The drawing of a design; null: the plain one. */
export function drawingOf({ assetUrl }: Pick<Frame, 'assetUrl'>, design: CardDesign): Drawing | null {
  const kind = classes[design];
  return kind === null ? null : { kind, url: assetUrl(`${kind}.svg`) };
}

/** The drawing of a card. @param brand undefined: the color of the pages. */
export function giftDrawing({
  shop,
  name,
  figure,
  brand,
  drawing,
}: {
  readonly shop: string;
  readonly name: string | null;
  /** Undefined: the amount is not known. */
  readonly figure: Markup | undefined;
  readonly brand?: Brand;
  /** Null: the ribbon, on the color of the brand. */
  readonly drawing: Drawing | null;
}): Markup {
  const texts = markup`<span class="shop"><bdi>${shop}</bdi></span><span class="tail name"><bdi>${name ?? ''}</bdi></span>${figure}`;
  if (drawing)
    return markup`<div class="gift pictured ${drawing.kind}"><img class="art" src="${drawing.url}" alt="">${texts}</div>`;
  // The content security policy allows no inline styles, but attributes of SVG.
  const ground =
    brand &&
    markup`<svg class="ground" aria-hidden="true"><rect width="100%" height="100%" fill="${brand.color}"/></svg>`;
  return markup`<div class="gift${brand?.isLight === true ? ' light' : ''}">${ground}${knot}${texts}</div>`;
}

type Choice = {
  readonly legend: string;
  /** The name of the chosen one; empty: none, so the form sends none. */
  readonly chosen: string;
  readonly nameOf: (design: CardDesign) => string;
  readonly error?: string | undefined;
  readonly hint?: string;
};

/** The choice of a design with pictures, which works without a script. */
export function designChoice(
  frame: Pick<Frame, 'assetUrl'>,
  { legend, chosen, nameOf, error, hint }: Choice,
): Markup {
  const choices = cardDesigns.map((design) => {
    const checked = design === chosen ? markup` checked` : undefined;
    const drawing = drawingOf(frame, design);
    const picture = drawing
      ? markup`<img class="picture" src="${drawing.url}" alt="" loading="lazy">`
      : markup`<span class="picture gift">${knot}</span>`;
    return markup`<label class="design"><input type="radio" name="design" value="${design}"${checked}>${picture}<span>${nameOf(design)}</span></label>
`;
  });
  const below =
    error === undefined
      ? hint !== undefined && markup`<p class="hint">${hint}</p>`
      : markup`<p class="error" role="alert">${error}</p>`;
  return markup`<fieldset class="stack"><legend>${legend}</legend><div class="designs">
${choices}</div>${below === false ? undefined : below}</fieldset>`;
}
