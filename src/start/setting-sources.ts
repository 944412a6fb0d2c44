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

type UnknownVariable = {
  readonly variable: string;
  /** The setting that may be meant; null: only the form is that of a setting. */
  readonly meant: string | null;
};

/** A variable that is set and may not do what it is meant to do. */
export type SettingDoubt = { readonly message: string; readonly remedy: string };

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

/** Kubernetes and Docker set these for a service with such a name; OpenSSL reads the last one. */
const ofOthers =
  /_SERVICE_(?:HOST$|PORT(?:_|$))|_PORT_\d{1,5}_(?:TCP|UDP)(?:_|$)|^(?:LARGESSE|DATABASE|SMTP|KEYS|METRICS)_(?:PORT|NAME)$|_ENV_|^SSL_CERT_FILE$/;
const namesMax = 10_000;
const nameLengthMax = 64;

/** Returns the variables that look like a setting, such as `DATABSE_URL`, and are not one. */
function unknownVariables(environment: Environment): readonly UnknownVariable[] {
  const known = new Set(
    rows.flatMap(({ variable, contains }) => (contains ? [variable, `${variable}_FILE`] : [variable])),
  );
  return Object.keys(environment)
    .slice(0, namesMax)
    .filter((name) => name.length <= nameLengthMax && !known.has(name) && !ofOthers.test(name))
    .toSorted()
    .flatMap((variable) => {
      const meant = [...known].find((name) => isTypingError(variable.toUpperCase(), name)) ?? null;
      return meant !== null || families.some((start) => variable.startsWith(start))
        ? [{ variable, meant }]
        : [];
    });
}

/** The findings of `largesse doctor`, which the service logs when it starts: unknown variables, and settings without effect. */
export function settingDoubts(environment: Environment): readonly SettingDoubt[] {
  const unknown = unknownVariables(environment).map(({ variable, meant }) => ({
    message: `${variable} is set, and there is no such setting`,
    remedy:
      meant === null ? `remove ${variable}, or correct its name` : `if you mean ${meant}, correct the name`,
  }));
  const unused = rows.flatMap(({ variable, usedWith }) => {
    if (!usedWith || !isSet(environment, variable)) return [];
    const { variable: other, values } = usedWith;
    const { default: usual } = rows.find((row) => row.variable === other) ?? {};
    const value = environment[other] || String(usual);
    if (values === null ? isSet(environment, other) : values.includes(value)) return [];
    return [
      {
        message: `${variable} is set and has no effect, because ${other} is ${values === null ? 'not set' : shown(value)}`,
        remedy: `set ${other}${values === null ? '' : `=${values.join(` or ${other}=`)}`}, or remove ${variable}`,
      },
    ];
  });
  return [...unknown, ...unused];
}

function isSet(environment: Environment, variable: string): boolean {
  return Boolean(environment[variable]) || Boolean(environment[`${variable}_FILE`]);
}

/**
 * Whether the texts differ in one typing error, or in two if they are long. An omitted underscore and a singular instead of a
 * plural do not count. Short names are often those of other programs.
 */
function isTypingError(text: string, name: string): boolean {
  if (name.length < 8) return text === name;
  const [typed, meant] = [text.replaceAll('_', ''), name.replaceAll('_', '')];
  const errorsMax = name.length < 12 ? 1 : 2;
  return ['', 'S', 'ES'].some(
    (plural) => distance(`${typed}${plural}`, meant) <= (plural === '' ? errorsMax : 0),
  );
}

/**
 * The number of insertions, deletions, replacements and transpositions of neighbours that make one text the other (the optimal
 * string alignment distance of Damerau and Levenshtein). 3: it is larger than 2.
 */
function distance(left: string, right: string): number {
  if (Math.abs(left.length - right.length) > 2) return 3;
  let before: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: right.length + 1 }, (_, place) => place);
  for (const [row, one] of left.split('').entries()) {
    const current = [row + 1];
    for (const [column, other] of right.split('').entries()) {
      const replaced = (previous[column] ?? 0) + (one === other ? 0 : 1);
      const isTransposed = row > 0 && column > 0 && one === right[column - 1] && left[row - 1] === other;
      const transposed = isTransposed ? (before[column - 1] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      current.push(
        Math.min(replaced, transposed, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1),
      );
    }
    [before, previous] = [previous, current];
  }
  return previous.at(-1) ?? 0;
}
