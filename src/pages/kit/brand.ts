/** The color of a store on its pages: a style sheet that depends on the color only. */

import type { ServedDocument } from '../../http/documents.ts';

type Shade = { readonly color: string; readonly text: string };

export type Brand = {
  /** `#rrggbb`, of the store's cards. */
  readonly color: string;
  /** Whether text on the color is dark. */
  readonly isLight: boolean;
  /** The color of links, bars and buttons, and of text on them, on light and on dark pages. */
  readonly shades: { readonly light: Shade; readonly dark: Shade };
};

/** The name of the style sheet of a color among the files of the pages. */
export function brandFileName({ color }: Brand): string {
  return `brand-${color.slice(1)}.css`;
}

/** The style sheet with the name; undefined: it is the name of another file. */
export function findBrandFile(
  name: string,
  brandOf: (color: string | null) => Brand,
): ServedDocument | undefined {
  const [, digits] = /^brand-([0-9a-f]{6})\.css$/.exec(name) ?? [];
  if (digits === undefined) return undefined;
  return { type: 'text/css; charset=utf-8', content: sheetOf(brandOf(`#${digits}`)) };
}

function sheetOf({ color, isLight, shades: { light, dark } }: Brand): string {
  const both = (part: keyof Shade): string => `light-dark(${light[part]}, ${dark[part]})`;
  return `:root {
  --brand: ${color};
  --on-brand: ${isLight ? '#1a1a1a' : '#ffffff'};
}
.branded {
  --accent: ${both('color')};
  --on-accent: ${both('text')};
  --link: ${both('color')};
}
`;
}
