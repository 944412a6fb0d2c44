/** Whether text on the color of a shop can be read, in words, below the field of the color. */

import { emailTool, type EmailTools } from '../tools.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import type { ConsoleServices } from '../../../../pages/kit/services.ts';
import { fillPlain, type PageLanguage } from '../../../../pages/kit/texts.ts';
import { settingsTexts } from '../../../shop-settings/pages/page.ts';

export const legibilityPath = '/settings/legibility';

const typedLengthMax = 100;

/** People leave out the `#` of a color. */
export function withHash(typed: string): string {
  return typed.startsWith('#') ? typed : `#${typed}`;
}

/** Whether text on the color of the card can be read, in words. */
export function legibilityText(
  { foreground, contrast, isReadable, hasEdge }: ReturnType<EmailTools['legibilityOf']>,
  language: PageLanguage,
): string {
  const text = settingsTexts[language];
  const number = (value: number): string =>
    new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(value);
  // 4.49 is not enough, so it is not shown as 4.5.
  const ratio = number(isReadable ? contrast : Math.floor(contrast * 10) / 10);
  const values = { ratio, enough: number(4.5) };
  const sentence = fillPlain(foreground === 'white' ? text.whiteText : text.blackText, values);
  return hasEdge ? `${sentence} ${text.colorEdge}` : sentence;
}

/** The legibility of text on a typed color, in words; undefined: it is not a color. */
export function legibilityOf(
  { parseColor, legibilityOf: of }: EmailTools,
  typed: string,
  language: PageLanguage,
):
  | { readonly color: string; readonly isReadable: boolean; readonly state: string; readonly text: string }
  | undefined {
  const parsed = typed === '' || typed.length > typedLengthMax ? undefined : parseColor(withHash(typed));
  if (typed !== '' && parsed?.ok !== true) return undefined;
  const found = of(parsed?.ok === true ? parsed.value : null);
  const { readable, hardToRead } = settingsTexts[language];
  const { colour: color, isReadable } = found;
  return {
    color,
    isReadable,
    state: isReadable ? readable : hardToRead,
    text: legibilityText(found, language),
  };
}

/** It names its color, because it follows the field only with the script of the page. */
export function legibilityLine(
  { tools, frame }: ConsoleServices,
  typed: string,
  language: PageLanguage,
): Markup {
  const found = legibilityOf(tools.of(emailTool), typed, language);
  const shown =
    found &&
    markup`<span class="tag ${found.isReadable ? 'good' : 'bad'}">${found.state}</span> <span class="code">${found.color}</span> <span class="soft small">${found.text}</span>`;
  return markup`<p class="row" id="legibility" role="status" data-path="${frame.basePath}${legibilityPath}">${shown}</p>`;
}
