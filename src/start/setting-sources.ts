/** The source of each setting's value, and variables that look like settings and are not. */

import { settings, type Setting } from './settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export type SettingSource = {
  readonly variable: string;
  /** `file`: the file that `<variable>_FILE` names. */
  readonly source: 'environment' | 'file' | 'default';
  /** The text of the variable, or the path of the file; null: it is secret, or the default is used. */
  readonly text: string | null;
};

export type UnknownVariable = {
  readonly variable: string;
  /** The setting that may be meant; null: only the form is that of a setting. */
  readonly meant: string | null;
};

const rows: readonly Setting<unknown>[] = Object.values(settings).flatMap((group) =>
  Object.values<Setting<unknown>>(group),
);

/** The longest text that is shown. */
const textMax = 200;

export function settingSources(environment: Environment): readonly SettingSource[] {
  return rows.map(({ variable, contains }) => {
    const file = contains ? environment[`${variable}_FILE`] : undefined;
    if (file) return { variable, source: 'file', text: shown(file) };
    const text = environment[variable];
    if (!text) return { variable, source: 'default', text: null };
    return { variable, source: 'environment', text: contains ? null : shown(text) };
  });
}

/** One line without control characters, and without the password of a URL, also if it has too few slashes. */
function shown(text: string): string {
  const line = withoutPassword(text.replaceAll(/\p{Cc}/gu, ' '));
  return line.length <= textMax ? line : `${line.slice(0, textMax)}…`;
}

/** Replaces what is between the first colon, with slashes that follow it, and the last `@`. */
function withoutPassword(text: string): string {
  const colon = /:[/\\]*/.exec(text);
  if (!colon) return text;
  const start = colon.index + colon[0].length;
  const end = text.lastIndexOf('@');
  return end < start ? text : `${text.slice(0, start)}…${text.slice(end)}`;
}

const { database, email, service } = settings;
/** No other program is likely to use variables that start like these. */
const families = [
  'LARGESSE',
  database.database,
  database.keysFile,
  email.smtpUrl,
  email.sender,
  service.metricsToken,
]
  .map((row) => (typeof row === 'string' ? row : (row.variable.split('_')[0] ?? '')))
  .map((word) => `${word}_`);

/** Kubernetes and Docker set these for a service with such a name. */
const ofOrchestrators =
  /_SERVICE_(?:HOST$|PORT(?:_|$))|_PORT_\d{1,5}_(?:TCP|UDP)(?:_|$)|^(?:LARGESSE|DATABASE|SMTP|KEYS|METRICS)_(?:PORT|NAME)$|_ENV_/;
const namesMax = 10_000;
const nameLengthMax = 64;

/** Returns the variables that look like a setting, such as `DATABSE_URL`, and are not one. */
export function unknownVariables(environment: Environment): readonly UnknownVariable[] {
  const known = new Set(
    rows.flatMap(({ variable, contains }) => (contains ? [variable, `${variable}_FILE`] : [variable])),
  );
  return Object.keys(environment)
    .slice(0, namesMax)
    .filter((name) => name.length <= nameLengthMax && !known.has(name) && !ofOrchestrators.test(name))
    .toSorted()
    .flatMap((variable) => {
      const meant = [...known].find((name) => isTypingError(variable.toUpperCase(), name)) ?? null;
      return meant !== null || families.some((start) => variable.startsWith(start))
        ? [{ variable, meant }]
        : [];
    });
}

/** Whether the texts differ in one character, or in two if they are long. Short names are often those of other programs. */
function isTypingError(text: string, name: string): boolean {
  if (name.length < 8) return text === name;
  return distance(text, name) <= (name.length < 12 ? 1 : 2);
}

/** The number of insertions, deletions and replacements that make one text the other (Levenshtein). */
function distance(left: string, right: string): number {
  if (Math.abs(left.length - right.length) > 2) return 3;
  let previous = Array.from({ length: right.length + 1 }, (_, place) => place);
  for (const [row, one] of left.split('').entries()) {
    const current = [row + 1];
    for (const [column, other] of right.split('').entries()) {
      const replaced = (previous[column] ?? 0) + (one === other ? 0 : 1);
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}
