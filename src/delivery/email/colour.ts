/**
 * Colours of a store.
 *
 * *Luminance* and *contrast* are those of WCAG 2 (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio): 1 for equal
 * colours, 21 for black on white, at least 4.5 for readable text.
 */

import { accepted, rejected, type Parsed } from '../../domain/parsed.ts';

/** A colour as `#rrggbb`, lower case. */
export type Colour = `#${string}`;

const white: Colour = '#ffffff';
const ink: Colour = '#1a1a1a';

/** The default: a deep green. */
export const defaultColour: Colour = '#1f4d3f';

/** Parses a colour such as `#1F4D3F` or `#abc`. */
export function parseColour(value: unknown): Parsed<Colour> {
  if (typeof value !== 'string' || !/^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(value))
    return rejected('must be a colour such as "#1f4d3f"');
  const digits = value.slice(1).toLowerCase();
  const colour: Colour = `#${digits.length === 3 ? digits.replaceAll(/./g, '$&$&') : digits}`;
  return accepted(colour);
}

/** White or near black: the one with the better contrast. */
export function foregroundOn(background: Colour): Colour {
  return contrast(white, background) >= contrast(ink, background) ? white : ink;
}

/** The color of a store's cards, and whether text on it is dark. @param stored null or invalid: the default. */
export function brandOf(stored: string | null): { readonly color: Colour; readonly isLight: boolean } {
  const parsed = parseColour(stored);
  const color = parsed.ok ? parsed.value : defaultColour;
  return { color, isLight: foregroundOn(color) === ink };
}

/** A border that is visible on white: the colour itself, or a grey if it is nearly white. */
export function edgeOf(colour: Colour): Colour {
  return contrast(colour, white) < 1.3 ? '#cfcbc2' : colour;
}

/** How well text can be read on a colour. */
export type Legibility = {
  readonly colour: Colour;
  readonly foreground: 'white' | 'black';
  readonly contrast: number;
  /** Whether the contrast is at least that of readable text. */
  readonly isReadable: boolean;
  /** Whether the colour is nearly white, and has a grey border. */
  readonly hasEdge: boolean;
};

const readableContrastMin = 4.5;

/** @param colour null: the default. */
export function legibilityOn(colour: Colour | null): Legibility {
  const background = colour ?? defaultColour;
  const foreground = foregroundOn(background);
  const ratio = contrast(foreground, background);
  return {
    colour: background,
    foreground: foreground === white ? 'white' : 'black',
    contrast: ratio,
    isReadable: ratio >= readableContrastMin,
    hasEdge: edgeOf(background) !== background,
  };
}

/** The contrast ratio of two colours, 1 to 21. */
function contrast(left: Colour, right: Colour): number {
  const [one, other] = [luminance(left), luminance(right)];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

function luminance(colour: Colour): number {
  const channel = (at: number): number => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}
