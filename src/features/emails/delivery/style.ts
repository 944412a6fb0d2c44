/** Fonts, light and dark colours, and the few rules that cannot be inline. */

import { markup, type Markup } from '../../../platform/markup.ts';
import type { Shade } from './colour.ts';

/** Fonts of the device, because an email loads no fonts. Each language adds fonts for a script that these lack. */
const latin = `-apple-system,BlinkMacSystemFont,'Segoe UI',Roboto,'Helvetica Neue',Arial`;

export function fontsFor(locale: string): string {
  const { language } = new Intl.Locale(locale);
  switch (language) {
    case 'ja':
      return `${latin},'Hiragino Sans','Yu Gothic',Meiryo,sans-serif`;
    case 'zh':
      return `${latin},'PingFang SC','Microsoft YaHei',sans-serif`;
    case 'ko':
      return `${latin},'Apple SD Gothic Neo','Malgun Gothic',sans-serif`;
    case 'ar':
    case 'he':
      // Segoe UI and Arial have these scripts, in a weight that fits their Latin letters.
      return `-apple-system,BlinkMacSystemFont,'Segoe UI',Arial,'Noto Sans Arabic','Noto Sans Hebrew',sans-serif`;
    default:
      return `${latin},sans-serif`;
  }
}

/** For the words of a present. */
export const serif = `Georgia,'Times New Roman',serif`;

export const monospace = `ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono','Courier New',monospace`;

/** The light colours, for inline styles; the dark ones are in `rulesFor`. */
export const light = {
  page: '#f4f2ee',
  sheet: '#ffffff',
  panel: '#f8f7f4',
  rule: '#e6e3dc',
  ink: '#1f1f1d',
  soft: '#66645f',
} as const;

/**
 * Dark colours and narrow screens, for clients with media queries; others show the inline styles. Outlook's dark mode
 * marks elements with `data-ogsc` and `data-ogsb`, which get the same colours.
 * @param dark the colour of buttons and links on dark ground.
 */
export const rulesFor = (dark: Shade): Markup => markup`
    :root { color-scheme: light dark; supported-color-schemes: light dark; }
    a { text-decoration: none; }
    h1, p, .soft { text-wrap: balance; }
    :lang(ja) { word-break: auto-phrase; }
    :lang(ko) { word-break: keep-all; }
    @media (prefers-color-scheme: dark) {
      .page { background: #121211 !important; }
      .sheet { background: #1d1d1b !important; border-color: #2f2f2c !important; }
      .panel { background: #262623 !important; border-color: #383833 !important; }
      .rule { border-color: #33332f !important; }
      .ink { color: #f3f1ec !important; }
      .soft { color: #b3afa6 !important; }
      .logo { background: #ffffff !important; padding: 8px 12px !important; border-radius: 8px !important; }
      .card { border-color: #4a4a45 !important; }
      .quote { border-color: #7a766d !important; }
      .link { color: ${dark.color} !important; }
      .call { background: ${dark.color} !important; border-color: ${dark.color} !important; }
      .call .button { color: ${dark.text} !important; }
    }
    [data-ogsb] .sheet { background: #1d1d1b !important; }
    [data-ogsb] .panel { background: #262623 !important; }
    [data-ogsc] .ink { color: #f3f1ec !important; }
    [data-ogsc] .soft { color: #b3afa6 !important; }
    [data-ogsc] .link { color: ${dark.color} !important; }
    [data-ogsb] .call { background: ${dark.color} !important; }
    [data-ogsc] .call .button { color: ${dark.text} !important; }
    @media (max-width: 480px) {
      .gutter { padding: 0 !important; }
      .sheet { border-radius: 0 !important; border-left: 0 !important; border-right: 0 !important; }
      .side { padding-left: 22px !important; padding-right: 22px !important; }
      .wide { width: 100% !important; }
      .button { display: block !important; }
    }
  `;
