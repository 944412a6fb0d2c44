/** Reads settings from the environment, and collects their problems. */

import { readFileSync } from 'node:fs';
import { problemOf, settings, type Setting, type ValuesOf } from './settings.ts';
import type { DatabaseLocation } from './setting-values.ts';

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** One sentence per problem: what is wrong, and what is accepted. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads settings and collects their problems. An empty variable counts as unset. */
export class SettingsReader {
  readonly problems: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  read<T>(row: Setting<T>): T {
    const { variable, contains } = row;
    const text = contains ? this.#textOf(variable) : this.#environment[variable];
    if (text === undefined || text === '') return row.default;
    return this.#parse(row, variable, text);
  }

  /** The values of a group of settings. */
  readGroup<Group extends Readonly<Record<string, Setting<unknown>>>>(group: Group): ValuesOf<Group> {
    const values = Object.entries(group).map(([field, row]) => [field, this.read(row)]);
    // Each field has the value of its own setting.
    return Object.fromEntries(values) as ValuesOf<Group>;
  }

  isGiven({ variable }: Setting<unknown>): boolean {
    return Boolean(this.#environment[variable]);
  }

  /** Reads the location in a command-line option: a URL, `env:NAME` or `@path`. */
  readLocation(option: string, argument: string): DatabaseLocation {
    const [, name] = /^env:(\w+)$/.exec(argument) ?? [];
    const text = name === undefined ? this.#fileOr(argument) : this.#environment[name];
    const row = {
      ...settings.database.database,
      accepts: `${settings.database.database.accepts}, \`env:NAME\` or \`@file\``,
    };
    if (text !== undefined && text !== '') return this.#parse(row, option, text);
    this.problems.push(
      `${option} must name a variable or a file that contains the URL of a database, not ${JSON.stringify(argument)}`,
    );
    return row.default;
  }

  #parse<T>(row: Setting<T>, name: string, text: string): T {
    const value = row.parse(text);
    if (value !== undefined) return value;
    this.problems.push(problemOf(row, name, text));
    return row.default;
  }

  #fileOr(argument: string): string | undefined {
    if (!argument.startsWith('@')) return argument;
    try {
      return readFileSync(argument.slice(1), 'utf8').trim();
    } catch {
      return undefined;
    }
  }

  /** The text of a variable, or of the file that `<name>_FILE` names; undefined if it is unset or empty. */
  #textOf(name: string): string | undefined {
    const file = this.#environment[`${name}_FILE`];
    const text = this.#environment[name] || undefined;
    if (!file) return text;
    if (text) this.problems.push(`${name} and ${name}_FILE cannot both be set`);
    try {
      return readFileSync(file, 'utf8').trim() || undefined;
    } catch {
      this.problems.push(`${name}_FILE must be the path of a readable file, not ${JSON.stringify(file)}`);
      return undefined;
    }
  }

  finish<T extends object>(value: T): Readonly<T> {
    if (this.problems.length > 0) throw new ConfigError(this.problems);
    return Object.freeze(value);
  }
}
