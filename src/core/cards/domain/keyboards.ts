/**
 * Keyboards on which a scanner that types for a US keyboard produces other characters. The tables are those of
 * `xkeyboard-config` 2.35 (https://gitlab.freedesktop.org/xkeyboard-config/xkeyboard-config, `symbols/de`, `fr`, `ch` and
 * `be`), which have the same characters as Windows (https://learn.microsoft.com/globalization/windows-keyboard-layouts).
 */

/** The keys of the rows of a US keyboard: without Shift, then with it. */
const usKeys = [
  '`1234567890-=',
  'qwertyuiop[]\\',
  "asdfghjkl;'",
  'zxcvbnm,./',
  '~!@#$%^&*()_+',
  'QWERTYUIOP{}|',
  'ASDFGHJKL:"',
  'ZXCVBNM<>?',
].join('');

/** The characters of the same keys. A dead key types its accent if no letter that can have it follows. */
const keysOf = {
  german: [
    '^1234567890ß´',
    'qwertzuiopü+#',
    'asdfghjklöä',
    'yxcvbnm,.-',
    '°!"§$%&/()=?`',
    "QWERTZUIOPÜ*'",
    'ASDFGHJKLÖÄ',
    'YXCVBNM;:_',
  ],
  'swiss-german': [
    "§1234567890'^",
    'qwertzuiopü¨$',
    'asdfghjklöä',
    'yxcvbnm,.-',
    '°+"*ç%&/()=?`',
    'QWERTZUIOPè!£',
    'ASDFGHJKLéà',
    'YXCVBNM;:_',
  ],
  'swiss-french': [
    "§1234567890'^",
    'qwertzuiopè¨$',
    'asdfghjkléà',
    'yxcvbnm,.-',
    '°+"*ç%&/()=?`',
    'QWERTZUIOPü!£',
    'ASDFGHJKLöä',
    'YXCVBNM;:_',
  ],
  french: [
    '²&é"\'(-è_çà)=',
    'azertyuiop^$*',
    'qsdfghjklmù',
    'wxcvbn,;:!',
    '~1234567890°+',
    'AZERTYUIOP¨£µ',
    'QSDFGHJKLM%',
    'WXCVBN?./§',
  ],
  belgian: [
    '²&é"\'(§è!çà)-',
    'azertyuiop^$µ',
    'qsdfghjklmù',
    'wxcvbn,;:=',
    '³1234567890°_',
    'AZERTYUIOP¨*£',
    'QSDFGHJKLM%',
    'WXCVBN?./+',
  ],
} as const;

export type Keyboard = keyof typeof keysOf;

/** In the order in which they are tried. */
export const keyboards = Object.keys(keysOf) as readonly Keyboard[];

/** Keys that type the same on every keyboard: the space bar, Tab and Enter. */
const everywhere = ' \t\r\n';

/** The character of the US keyboard by that of the other one. */
const usByKeyboard: ReadonlyMap<Keyboard, ReadonlyMap<string, string>> = new Map(
  keyboards.map((keyboard) => {
    const typed = Array.from(keysOf[keyboard].join(''), (character, place) => {
      return [character, usKeys.charAt(place)] as const;
    });
    return [keyboard, new Map([...Array.from(everywhere, (key) => [key, key] as const), ...typed])];
  }),
);

/** The text that the same keys type on a US keyboard; undefined: a character has no key on the keyboard. */
export function onUsKeyboard(text: string, keyboard: Keyboard): string | undefined {
  const keys = usByKeyboard.get(keyboard);
  let typed = '';
  for (const character of text) {
    const key = keys?.get(character);
    if (key === undefined) return undefined;
    typed += key;
  }
  return typed;
}
