/** The table of settings as text: for `largesse serve --help` and for docs/settings.md. */

import type { Command } from 'commander';
import { settings, withoutMarkup, type Setting } from '../start/settings.ts';
import { print } from './output.ts';

const groups: readonly { readonly title: string; readonly rows: readonly Setting<unknown>[] }[] = [
  { title: 'Service', rows: Object.values(settings.service) },
  { title: 'HTTPS', rows: Object.values(settings.https) },
  { title: 'Database', rows: Object.values(settings.database) },
  { title: 'Email', rows: Object.values(settings.email) },
  { title: 'Retention', rows: Object.values(settings.retention) },
  { title: 'Versions', rows: Object.values(settings.releases) },
  { title: 'Agents', rows: Object.values(settings.agent) },
];

/** Writes docs/settings.md: `npm run docs:settings`. */
export function addSettingsPageCommand(root: Command): void {
  root
    .command('settings-page', { hidden: true })
    .description('print the page docs/settings.md')
    .action(() => print(settingsPage()));
}

/** Formats the settings for a terminal. */
export function settingsHelp(): string {
  const sections = groups.map(({ title, rows }) => `${title}:\n${rows.map(helpOf).join('\n')}`);
  return `\nSettings, as environment variables:\n\n${sections.join('\n\n')}`;
}

function helpOf(row: Setting<unknown>): string {
  const text = `${row.description} ${sentencesOf(row)} Default: ${row.shownDefault}.`;
  return `  ${row.variable}\n${wrapped(withoutMarkup(text), 92)
    .map((line) => `      ${line}`)
    .join('\n')}`;
}

export function settingsPage(): string {
  const sections = groups.map(({ title, rows }) =>
    [
      `## ${title}`,
      '',
      '| variable | description | default |',
      '| --- | --- | --- |',
      ...rows.map(rowOf),
    ].join('\n'),
  );
  return `# Settings

<!-- Generated from src/start/settings.ts: run "npm run docs:settings" after a change. -->

The service and the commands read their settings from environment variables. An empty variable counts as absent. If any variable is invalid, the service reports all of them and does not start.

${sections.join('\n\n')}`;
}

function rowOf(row: Setting<unknown>): string {
  return `| \`${row.variable}\` | ${row.description} ${sentencesOf(row)} | ${row.shownDefault} |`;
}

function sentencesOf({ variable, accepts, contains }: Setting<unknown>): string {
  const file = contains ? ` \`${variable}_FILE\` can name a file that contains it.` : '';
  return `Accepts ${accepts}.${file}`;
}

/** Wraps a text. A word that is longer than a line has its own line. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
