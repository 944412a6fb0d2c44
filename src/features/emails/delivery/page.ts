/**
 * The HTML page around the blocks of an email.
 *
 * The layout uses tables and inline styles, because Outlook on Windows renders with Word, and Gmail removes unknown
 * markup. The page is far below the 102 KB at which Gmail truncates an email. It loads no script, font or stylesheet,
 * and no image except the store's logo.
 */

import type { BrandColours, Colour } from './colour.ts';
import { phoneLink, shownLink } from '../../../core/stores/domain/identity.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { fontsFor, light, rulesFor } from './style.ts';
import { htmlOf } from './translate.ts';

/** The parts that every email of a store has around its blocks. */
export type Frame = {
  readonly storeName: string;
  /** An image inside of the email. `width` and `height` are in CSS pixels. */
  readonly logo: { readonly source: `cid:${string}`; readonly width: number; readonly height: number } | null;
  readonly colour: Colour;
  /** The border of the colour: the colour itself, or a grey if it is nearly white. */
  readonly edge: Colour;
  /** The colour of text on the colour. */
  readonly foreground: Colour;
  /** The colour of buttons and links, as it can be read on light and on dark ground. */
  readonly shades: BrandColours['shades'];
  /** Below the email; empty and null: not known. */
  readonly identity: {
    /** The name and the address of the location of the sale, as lines. */
    readonly place: readonly string[];
    readonly phone: string | null;
    /** An https URL. */
    readonly website: string | null;
    /** Lines. */
    readonly hours: readonly string[];
    readonly terms: { readonly text: string; readonly url: string } | null;
  };
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly contact: string;
  readonly automatic: string;
  readonly unsubscribe: { readonly text: string; readonly url: string } | null;
};

export type EmailPage = {
  readonly title: string;
  readonly preheader: string;
  readonly body: readonly Markup[];
};

/** Invisible characters (combining joiners and spaces) that keep the first words out of the preview line. */
const previewPadding = '\u034f\u200c\u00a0'.repeat(60);

export function page({ title, preheader, body }: EmailPage, frame: Frame): string {
  const fonts = fontsFor(frame.locale);
  const document = markup`<!doctype html>
<html lang="${frame.locale}" dir="${frame.direction}" xmlns="http://www.w3.org/1999/xhtml">
<head>
  <meta charset="utf-8" />
  <meta name="viewport" content="width=device-width, initial-scale=1" />
  <meta name="color-scheme" content="light dark" />
  <meta name="supported-color-schemes" content="light dark" />
  <meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no" />
  <meta name="x-apple-disable-message-reformatting" />
  <title>${title}</title>
  <style>${rulesFor(frame.shades.dark)}</style>
</head>
<body class="page" style="margin:0;padding:0;background:${light.page};-webkit-text-size-adjust:100%;-ms-text-size-adjust:100%">
  <div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;mso-hide:all">${htmlOf(preheader)}${previewPadding}</div>
  <table class="page" role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="background:${light.page}" bgcolor="${light.page}">
    <tr>
      <td class="gutter" align="center" style="padding:32px 12px">
        <!--[if mso]><table role="presentation" width="600" cellpadding="0" cellspacing="0" border="0"><tr><td><![endif]-->
        <table class="sheet" role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" dir="${frame.direction}" bgcolor="${light.sheet}" style="max-width:600px;background:${light.sheet};border:1px solid ${light.rule};border-radius:16px;font-family:${fonts};text-align:${sidesOf(frame)[0]}">
          <tr><td class="side" align="center" style="padding:36px 40px 4px">${masthead(frame)}</td></tr>
          ${body}
          <tr><td class="side" style="padding:32px 40px 36px">${footer(frame)}</td></tr>
        </table>
        <!--[if mso]></td></tr></table><![endif]-->
      </td>
    </tr>
  </table>
</body>
</html>
`;
  return document.toString();
}

/** The sides on which lines start and end, because Word does not know the values "start" and "end". */
export function sidesOf({
  direction,
}: Pick<Frame, 'direction'>): readonly ['left' | 'right', 'left' | 'right'] {
  return direction === 'rtl' ? ['right', 'left'] : ['left', 'right'];
}

function masthead({ logo, storeName }: Frame): Markup {
  const name = markup`<bdi>${storeName}</bdi>`;
  if (logo === null) {
    return markup`<div class="ink" style="font-size:19px;line-height:28px;font-weight:600;letter-spacing:.2px;color:${light.ink}">${name}</div>`;
  }
  const { source, width, height } = logo;
  return markup`<img class="logo" src="${source}" alt="${storeName}" width="${width}" height="${height}" style="display:inline-block;height:${height}px;width:${width}px;border:0;font-size:19px;font-weight:600;color:${light.ink}" />`;
}

function footer(frame: Frame): Markup {
  const { contact, automatic, unsubscribe, identity, shades, storeName } = frame;
  const style = `padding:0 0 6px;font-size:13px;line-height:20px;color:${light.soft}`;
  const link = (url: string, text: string): Markup =>
    markup`<a class="link" href="${url}" style="color:${shades.light.color};text-decoration:underline">${htmlOf(text)}</a>`;
  const { place, phone, website, hours, terms } = identity;
  const reached = [
    ...(phone === null ? [] : [markup`<bdi dir="ltr">${link(phoneLink(phone), phone)}</bdi>`]),
    ...(website === null ? [] : [markup`<bdi dir="ltr">${link(website, shownLink(website))}</bdi>`]),
  ];
  const lines = [
    markup`<strong class="ink" style="color:${light.ink}"><bdi>${storeName}</bdi></strong>`,
    ...(place.length > 0 ? [joined(place.map((line) => markup`<bdi>${line}</bdi>`))] : []),
    ...(reached.length > 0 ? [joined(reached)] : []),
    ...hours.map((line) => markup`<bdi>${line}</bdi>`),
    htmlOf(contact),
    ...(terms ? [link(terms.url, terms.text)] : []),
    htmlOf(automatic),
    ...(unsubscribe
      ? [
          markup`<a class="soft" href="${unsubscribe.url}" style="color:${light.soft};text-decoration:underline">${htmlOf(unsubscribe.text)}</a>`,
        ]
      : []),
  ];
  return markup`<table class="rule" role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="border-top:1px solid ${light.rule}">
            <tr><td style="padding:0 0 18px;font-size:0;line-height:0">&nbsp;</td></tr>${lines.map(
              (line) => markup`
            <tr><td class="soft" align="center" style="${style}">${line}</td></tr>`,
            )}
          </table>`;
}

function joined(parts: readonly Markup[]): readonly Markup[] {
  return parts.map((part, index) => (index === 0 ? part : markup` &middot; ${part}`));
}
