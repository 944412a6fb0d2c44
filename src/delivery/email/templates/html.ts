/** The HTML part: every block as a row of the page's table. */

import { html, linesOf, type Html } from '../markup.ts';
import { htmlOf, type Phrase, type Value } from '../phrase.ts';
import type { Block, Fact } from './blocks.ts';
import { sidesOf, type Frame } from './page.ts';
import { light, monospace } from './style.ts';

type Of<Name extends Block['block']> = Extract<Block, { readonly block: Name }>;

export function rowOf(block: Block, frame: Frame): Html {
  return html`<tr><td class="side" style="padding:${paddingOf(block)}">${cellOf(block, frame)}</td></tr>
          `;
}

function paddingOf({ block }: Block): string {
  switch (block) {
    case 'heading':
      return '20px 40px 0';
    case 'paragraph':
      return '10px 40px 0';
    case 'note':
      return '20px 40px 0';
    case 'card':
    case 'message':
    case 'code':
    case 'facts':
    case 'button':
      return '24px 40px 0';
  }
}

function cellOf(block: Block, frame: Frame): Html {
  switch (block.block) {
    case 'heading':
      return html`<h1 class="ink" style="margin:0;font-size:26px;line-height:34px;font-weight:700;text-align:center;color:${light.ink}">${htmlOf(block.text)}</h1>`;
    case 'paragraph':
      return html`<p class="soft" style="margin:0;font-size:16px;line-height:25px;text-align:center;color:${light.soft}">${htmlOf(block.text)}</p>`;
    case 'note':
      return html`<p class="soft" style="margin:0;font-size:14px;line-height:21px;text-align:center;color:${light.soft}">${htmlOf(block.text)}</p>`;
    case 'card':
      return card(block, frame);
    case 'message':
      return message(block, frame);
    case 'code':
      return code(block);
    case 'facts':
      return facts(block.facts, frame);
    case 'button':
      return button(block, frame);
  }
}

function card({ title, ending, label, amount, caption }: Of<'card'>, frame: Frame): Html {
  const { colour, edge, foreground } = frame;
  const [start, end] = sidesOf(frame);
  const line = (phrase: Phrase, style: string): Html =>
    html`<tr><td colspan="2" style="color:${foreground};${style}">${htmlOf(phrase)}</td></tr>
              `;
  const head = `color:${foreground};font-size:15px;line-height:22px;`;
  return html`<table class="card" role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" bgcolor="${colour}" style="background:${colour};border:1px solid ${edge};border-radius:14px;text-align:${start}">
            <tr><td style="padding:26px 28px 28px">
              <table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
              <tr>
                <td align="${start}" valign="top" style="${head}font-weight:600">${htmlOf(title)}</td>
                <td align="${end}" valign="top" style="${head}font-family:${monospace};padding-${start}:12px;white-space:nowrap">${ending ? html`<bdi dir="ltr">&bull;&bull;&bull;&bull; ${htmlOf(ending.value)}</bdi>` : ''}</td>
              </tr>
              ${line(label, 'padding-top:34px;font-size:13px;line-height:18px')}${line([amount], `font-size:${amountSize(amount)}px;line-height:1.2;font-weight:700;letter-spacing:-.5px`)}${caption ? line(caption, 'padding-top:6px;font-size:14px;line-height:20px') : ''}</table>
            </td></tr>
          </table>`;
}

/** Pixels of the amount's letters: the longest amounts have to fit the width of a phone. */
function amountSize({ value }: Value): number {
  if (value.length <= 9) return 50;
  if (value.length <= 13) return 36;
  return value.length <= 18 ? 26 : 20;
}

function message({ label, message: text }: Of<'message'>, frame: Frame): Html {
  // The direction is the message's own: a Hebrew message in an English mail reads as its writer saw it.
  return html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
            <tr><td class="quote" style="border-${sidesOf(frame)[0]}:3px solid ${frame.edge};padding:2px 18px">
              <div class="soft" style="font-size:13px;line-height:18px;color:${light.soft}">${htmlOf(label)}</div>
              <div class="ink" dir="auto" style="unicode-bidi:isolate;text-align:start;padding-top:6px;font-size:17px;line-height:27px;color:${light.ink};word-break:break-word;overflow-wrap:anywhere">${linesOf(text)}</div>
            </td></tr>
          </table>`;
}

function code({ label, code: groups, hint, image }: Of<'code'>): Html {
  const small = `font-size:13px;line-height:19px;color:${light.soft}`;
  return html`<table class="panel" role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" bgcolor="${light.panel}" style="background:${light.panel};border:1px solid ${light.rule};border-radius:14px">
            <tr><td class="soft" align="center" style="padding:24px 20px 0;${small}">${htmlOf(label)}</td></tr>
            <tr><td class="ink" dir="ltr" align="center" style="padding:6px 12px 0;font-family:${monospace};font-size:23px;line-height:34px;font-weight:700;letter-spacing:1px;color:${light.ink}"><bdi dir="ltr">${groups}</bdi></td></tr>
            <tr><td align="center" style="padding:16px 20px 0"><img src="cid:${image.cid}" width="${image.size}" height="${image.size}" alt="${plainAlt(image.alt)}" style="display:block;width:${image.size}px;height:${image.size}px;border:0;border-radius:8px;background:#ffffff" /></td></tr>
            <tr><td class="soft" align="center" style="padding:14px 24px 24px;${small}">${htmlOf(hint)}</td></tr>
          </table>`;
}

function plainAlt(phrase: Phrase): string {
  return phrase.map((part) => (typeof part === 'string' ? part : part.value)).join('');
}

function facts(list: readonly Fact[], frame: Frame): Html {
  const [start, end] = sidesOf(frame);
  const rows = list.map(({ label, value }, index) => {
    const cell = `padding:11px 0;font-size:15px;line-height:22px;${index === 0 ? '' : `border-top:1px solid ${light.rule};`}`;
    return html`
            <tr>
              <td class="soft rule" align="${start}" valign="top" style="${cell}color:${light.soft}">${htmlOf(label)}</td>
              <td class="ink rule" align="${end}" valign="top" style="${cell}padding-${start}:16px;color:${light.ink};word-break:break-word;overflow-wrap:anywhere">${htmlOf(value)}</td>
            </tr>`;
  });
  return html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">${rows}
          </table>`;
}

function button({ text, url }: Of<'button'>, { colour, edge, foreground }: Frame): Html {
  return html`<table class="wide" role="presentation" align="center" cellpadding="0" cellspacing="0" border="0">
            <tr><td class="card" align="center" bgcolor="${colour}" style="background:${colour};border:1px solid ${edge};border-radius:10px"><a class="button" href="${url}" style="display:inline-block;padding:14px 34px;font-size:16px;line-height:22px;font-weight:600;color:${foreground};text-decoration:none">${htmlOf(text)}</a></td></tr>
          </table>`;
}
