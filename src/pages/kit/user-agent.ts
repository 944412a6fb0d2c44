/** The name that a browser gives itself, in words that a person recognizes. */

import { fillPlain, type PageLanguage, textsOf } from './texts.ts';

const texts = textsOf('gate');

type Names = readonly (readonly [token: string, name: string])[];

/** Most browsers also contain the tokens of those that follow. */
const browsers: Names = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['SamsungBrowser/', 'Samsung Internet'],
  ['FxiOS/', 'Firefox'],
  ['Firefox/', 'Firefox'],
  ['CriOS/', 'Chrome'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
];
const systems: Names = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['CrOS', 'ChromeOS'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'Mac'],
  ['Linux', 'Linux'],
];

function nameIn(names: Names, userAgent: string): string | undefined {
  return names.find(([token]) => userAgent.includes(token))?.[1];
}

const shownLengthMax = 60;

/** A User-Agent header as text, such as `Firefox on Mac`. */
export function browserText(userAgent: string, language: PageLanguage): string {
  const [browser, system] = [nameIn(browsers, userAgent), nameIn(systems, userAgent)];
  if (browser !== undefined && system !== undefined)
    return fillPlain(texts[language].browserOn, { browser, system });
  const known = browser ?? system ?? userAgent.slice(0, shownLengthMax);
  return known === '' ? texts[language].unknownBrowser : known;
}
