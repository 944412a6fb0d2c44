/** The blocks of an email as HTML: each is a row of the page's table. */

import assert from 'node:assert/strict';
import { designColors, type PicturedDesign } from '../../../core/cards/domain/design.ts';
import { markup, linesOf, type Markup } from '../../../platform/markup.ts';
import { sidesOf, type Frame } from './page.ts';
import { light, monospace, serif } from './style.ts';
import type { Block, Fact } from './template.ts';
import { htmlOf, plainOf, type Isolated } from './translate.ts';

/** The inline image of a QR code. */
export type Qr = { readonly cid: string; readonly size: number };

type Of<Name extends Block['block']> = Extract<Block, { readonly block: Name }>;

/** @param qr the inline image of the code's QR code, with its side in CSS pixels. */
export function rowOf(block: Block, frame: Frame, qr: Qr | null): Markup {
  return markup`<tr><td class="side" style="padding:${paddingOf(block)}">${cellOf(block, frame, qr)}</td></tr>
          `;
}

function paddingOf(block: Block): string {
  switch (block.block) {
    case 'heading':
      return '20px 40px 0';
    case 'paragraph':
      return '10px 40px 0';
    case 'note':
      return '20px 40px 0';
    case 'closing':
      return block.isFirst ? '24px 40px 0' : '10px 40px 0';
    case 'card':
    case 'message':
    case 'document':
    case 'code':
    case 'facts':
    case 'button':
      return '24px 40px 0';
  }
}

function cellOf(block: Block, frame: Frame, qr: Qr | null): Markup {
  switch (block.block) {
    case 'heading':
      return markup`<h1 class="ink" style="margin:0;font-size:26px;line-height:34px;font-weight:700;text-align:center;color:${light.ink}">${htmlOf(block.text)}</h1>`;
    case 'paragraph':
    case 'closing':
      return markup`<p class="soft" style="margin:0;font-size:16px;line-height:25px;text-align:center;color:${light.soft}">${htmlOf(block.text)}</p>`;
    case 'note':
      return markup`<p class="soft" style="margin:0;font-size:14px;line-height:21px;text-align:center;color:${light.soft}">${htmlOf(block.text)}</p>`;
    case 'card':
      return card(block, frame);
    case 'message':
      return message(block, frame);
    case 'document':
      return document(block);
    case 'code':
      return code(block, qr);
    case 'facts':
      return facts(block.facts, frame);
    case 'button':
      return button(block, frame);
  }
}

/** The Content-ID of the drawing of a design. */
export const designCid = 'gift-card-design@largesse.invalid';

/** The card with a drawing. The texts are in cells on the ground of the design, so it is a card without images as well. */
function picturedCard(
  { title, label, amount, caption }: Of<'card'>,
  design: PicturedDesign,
  frame: Frame,
): Markup {
  const { ground, ink } = designColors[design];
  const [start, end] = sidesOf(frame);
  const cell = `padding-${start}:22px;color:${ink}`;
  const below = caption === null ? '' : markup`<br /><span style="font-size:13px">${htmlOf(caption)}</span>`;
  // The radii of one side: clients that ignore them show a square card.
  const radius = start === 'left' ? '0 14px 14px 0' : '14px 0 0 14px';
  return markup`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" bgcolor="${ground}" style="background:${ground};border-radius:14px;text-align:${start}">
            <tr>
              <td width="48%" align="${start}" valign="top" style="padding-top:22px;font-size:16px;line-height:22px;font-weight:600;${cell}"><bdi>${frame.storeName}</bdi><br /><span style="font-weight:400;font-size:14px">${htmlOf(title)}</span></td>
              <td width="52%" rowspan="2" align="${end}" valign="bottom" style="font-size:0;line-height:0"><img src="cid:${designCid}" width="270" alt="" style="display:block;width:100%;height:auto;border:0;border-radius:${radius}" /></td>
            </tr>
            <tr><td align="${start}" valign="bottom" style="padding-top:22px;padding-bottom:20px;font-size:13px;line-height:19px;${cell}">${htmlOf(label)}<br /><span style="font-size:${Math.round(amountSize(amount) * 0.64)}px;line-height:1.2;font-weight:700;letter-spacing:-.5px">${htmlOf(amount)}</span>${below}</td></tr>
          </table>`;
}

function card(block: Of<'card'>, frame: Frame): Markup {
  const { title, ending, label, amount, caption, design } = block;
  if (design) return picturedCard(block, design, frame);
  const { colour, edge, foreground } = frame;
  const [start, end] = sidesOf(frame);
  const line = (text: string, style: string): Markup =>
    markup`<tr><td colspan="2" style="color:${foreground};${style}">${htmlOf(text)}</td></tr>
              `;
  const head = `color:${foreground};font-size:15px;line-height:22px;`;
  return markup`<table class="card" role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" bgcolor="${colour}" style="background:${colour};border:1px solid ${edge};border-radius:14px;text-align:${start}">
            <tr><td style="padding:26px 28px 28px">
              <table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
              <tr>
                <td align="${start}" valign="top" style="${head}font-weight:600">${htmlOf(title)}</td>
                <td align="${end}" valign="top" style="${head}font-family:${monospace};padding-${start}:12px;white-space:nowrap">${ending ? markup`<bdi dir="ltr">&bull;&bull;&bull;&bull; ${htmlOf(ending.value)}</bdi>` : ''}</td>
              </tr>
              ${line(label, 'padding-top:34px;font-size:13px;line-height:18px')}${line(amount, `font-size:${amountSize(amount)}px;line-height:1.2;font-weight:700;letter-spacing:-.5px`)}${caption ? line(caption, 'padding-top:6px;font-size:14px;line-height:20px') : ''}</table>
            </td></tr>
          </table>`;
}

/** The font size of the amount in pixels, so that the longest amounts fit the width of a phone. */
function amountSize(amount: Isolated): number {
  const { length } = plainOf(amount);
  if (length <= 9) return 50;
  if (length <= 13) return 36;
  return length <= 18 ? 26 : 20;
}

/** The words of the present, above the card. */
function signedMessage({ message: text }: Of<'message'>, { label, value }: Fact): Markup {
  const size = text.length > 240 ? 'font-size:18px;line-height:27px' : 'font-size:24px;line-height:33px';
  return markup`<div class="ink" dir="auto" style="unicode-bidi:isolate;font-family:${serif};${size};text-align:center;color:${light.ink};word-break:break-word;overflow-wrap:anywhere">${linesOf(text)}</div>
          <div class="soft" style="padding-top:8px;font-size:15px;line-height:22px;text-align:center;color:${light.soft}">${htmlOf(label)}: ${htmlOf(value)}</div>`;
}

function message(block: Of<'message'>, frame: Frame): Markup {
  if (block.signed) return signedMessage(block, block.signed);
  const { label, message: text } = block;
  // The message has its own direction: a Hebrew message in an English email reads as its writer saw it.
  return markup`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
            <tr><td class="quote" style="border-${sidesOf(frame)[0]}:3px solid ${frame.edge};padding:2px 18px">
              <div class="soft" style="font-size:13px;line-height:18px;color:${light.soft}">${htmlOf(label)}</div>
              <div class="ink" dir="auto" style="unicode-bidi:isolate;text-align:start;padding-top:6px;font-size:17px;line-height:27px;color:${light.ink};word-break:break-word;overflow-wrap:anywhere">${linesOf(text)}</div>
            </td></tr>
          </table>`;
}

function document({ label, document: text }: Of<'document'>): Markup {
  const soft = `font-size:13px;line-height:20px;color:${light.soft}`;
  return markup`<h2 class="ink" style="margin:0;font-size:16px;line-height:24px;font-weight:600;color:${light.ink}">${htmlOf(label)}</h2>
          <div class="soft" dir="auto" style="unicode-bidi:isolate;text-align:start;padding-top:6px;${soft};word-break:break-word;overflow-wrap:anywhere">${linesOf(text)}</div>`;
}

function code({ label, code: groups, hint, alt }: Of<'code'>, qr: Qr | null): Markup {
  assert.ok(qr, 'a code is shown with its QR code');
  const small = `font-size:13px;line-height:19px;color:${light.soft}`;
  return markup`<table class="panel" role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" bgcolor="${light.panel}" style="background:${light.panel};border:1px solid ${light.rule};border-radius:14px">
            <tr><td class="soft" align="center" style="padding:24px 20px 0;${small}">${htmlOf(label)}</td></tr>
            <tr><td class="ink" dir="ltr" align="center" style="padding:6px 12px 0;font-family:${monospace};font-size:23px;line-height:34px;font-weight:700;letter-spacing:1px;color:${light.ink}"><bdi dir="ltr">${groups}</bdi></td></tr>
            <tr><td align="center" style="padding:16px 20px 0"><img src="cid:${qr.cid}" width="${qr.size}" height="${qr.size}" alt="${plainOf(alt)}" style="display:block;width:${qr.size}px;height:${qr.size}px;border:0;border-radius:8px;background:#ffffff" /></td></tr>
            <tr><td class="soft" align="center" style="padding:14px 24px 24px;${small}">${htmlOf(hint)}</td></tr>
          </table>`;
}

function facts(list: readonly Fact[], frame: Frame): Markup {
  const [start, end] = sidesOf(frame);
  const rows = list.map(({ label, value }, index) => {
    const cell = `padding:11px 0;font-size:15px;line-height:22px;${index === 0 ? '' : `border-top:1px solid ${light.rule};`}`;
    return markup`
            <tr>
              <td class="soft rule" align="${start}" valign="top" style="${cell}color:${light.soft}">${htmlOf(label)}</td>
              <td class="ink rule" align="${end}" valign="top" style="${cell}padding-${start}:16px;color:${light.ink};word-break:break-word;overflow-wrap:anywhere">${htmlOf(value)}</td>
            </tr>`;
  });
  return markup`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">${rows}
          </table>`;
}

function button({ text, url }: Of<'button'>, { shades: { light: shade } }: Frame): Markup {
  return markup`<table class="wide" role="presentation" align="center" cellpadding="0" cellspacing="0" border="0">
            <tr><td class="call" align="center" bgcolor="${shade.color}" style="background:${shade.color};border:1px solid ${shade.color};border-radius:10px"><a class="button" href="${url}" style="display:inline-block;padding:14px 34px;font-size:16px;line-height:22px;font-weight:600;color:${shade.text};text-decoration:none">${htmlOf(text)}</a></td></tr>
          </table>`;
}
