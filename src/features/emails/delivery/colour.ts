/**
 * Colours of a store.
 *
 * *Luminance* and *contrast* are those of WCAG 2 (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio): 1 for equal
 * colours, 21 for black on white, at least 4.5 for readable text.
 */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';

/** A colour as `#rrggbb`, lower case. */
export type Colour = `#${string}`;

const white: Colour = '#ffffff';
const ink: Colour = '#1a1a1a';

/** The default: a deep green. */
const defaultColour: Colour = '#1f4d3f';

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

/** A colour for text and buttons, and the text on it. */
export type Shade = { readonly color: Colour; readonly text: Colour };

export type BrandColours = {
  readonly color: Colour;
  /** Whether text on the colour is dark. */
  readonly isLight: boolean;
  /** The colour as it can be read on light and on dark pages. */
  readonly shades: { readonly light: Shade; readonly dark: Shade };
};

/** The grounds of pages on which a shade has the least contrast, and the contrast that it has at least. */
const lightGround = { ground: '#f2efe8', contrastMin: 4.6, change: -0.02 } as const;
const darkGround = { ground: '#222623', contrastMin: 8.8, change: 0.02 } as const;

/** The colour of a store's cards and pages. @param stored null or invalid: the default. */
export function brandOf(stored: string | null): BrandColours {
  const parsed = parseColour(stored);
  const color = parsed.ok ? parsed.value : defaultColour;
  return {
    color,
    isLight: foregroundOn(color) === ink,
    shades: { light: shadeOf(color, lightGround), dark: shadeOf(color, darkGround) },
  };
}

/** The nearest shade of a colour that can be read on the ground: darker or lighter, with the same hue and saturation. */
function shadeOf(
  colour: Colour,
  {
    ground,
    contrastMin,
    change,
  }: { readonly ground: Colour; readonly contrastMin: number; readonly change: number },
): Shade {
  const { lightness, ...hue } = hslOf(colour);
  let color = colour;
  for (let next = lightness + change; contrast(color, ground) < contrastMin; next += change) {
    if (next < 0 || next > 1) break;
    color = colourOf({ ...hue, lightness: next });
  }
  return { color, text: foregroundOn(color) };
}

/** Each from 0 to 1. */
type Hsl = { readonly hue: number; readonly saturation: number; readonly lightness: number };

/** The conversions of CSS (https://www.w3.org/TR/css-color-4/#rgb-to-hsl). */
function hslOf(colour: Colour): Hsl {
  const [red, green, blue] = channelsOf(colour);
  const [most, least] = [Math.max(red, green, blue), Math.min(red, green, blue)];
  const lightness = (most + least) / 2;
  const range = most - least;
  if (range === 0) return { hue: 0, saturation: 0, lightness };
  const saturation = (most - lightness) / Math.min(lightness, 1 - lightness);
  return { hue: (sixthsOf([red, green, blue], most, range) / 6) % 1, saturation, lightness };
}

/** The hue in sixths of a circle. */
function sixthsOf(
  [red, green, blue]: readonly [number, number, number],
  most: number,
  range: number,
): number {
  if (most === red) return (green - blue) / range + 6;
  return most === green ? (blue - red) / range + 2 : (red - green) / range + 4;
}

function colourOf({ hue, saturation, lightness }: Hsl): Colour {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const channels = [0, 8, 4].map((offset) => {
    const place = (offset + hue * 12) % 12;
    const value = lightness - reach * Math.max(-1, Math.min(place - 3, 9 - place, 1));
    return Math.round(value * 255)
      .toString(16)
      .padStart(2, '0');
  });
  return `#${channels.join('')}`;
}

/** Red, green and blue, from 0 to 1. */
function channelsOf(colour: Colour): readonly [number, number, number] {
  const channel = (at: number): number => Number.parseInt(colour.slice(at, at + 2), 16) / 255;
  return [channel(1), channel(3), channel(5)];
}

/** A border that is visible on white: the colour itself, or a grey if it is nearly white. */
export function edgeOf(colour: Colour): Colour {
  return contrast(colour, white) < 1.3 ? '#cfcbc2' : colour;
}

/** The legibility of text on a colour. */
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
  const [red, green, blue] = channelsOf(colour).map((value) =>
    value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}
