/** The program and its settings. */

import type { inspectEnvironment } from '../../../start/config.ts';
import { requireSoundSqlite } from '../../../database/sqlite/version.ts';
import { failure, messageOf, ok, warning, type DoctorFinding } from '../../../cli/finding.ts';

const oldestMajor = 26;

/** @param versions those of Node.js, from `process.versions`. */
export function checkNode(versions: Readonly<Record<string, string | undefined>>): readonly DoctorFinding[] {
  const { node = '', sqlite } = versions;
  const remedy = `install a current Node.js ${oldestMajor} from nodejs.org`;
  if (Number(node.split('.')[0]) < oldestMajor)
    return [failure('node', `Node.js ${node} is too old: ${oldestMajor} or later is required`, remedy)];
  try {
    requireSoundSqlite(sqlite);
  } catch (error) {
    return [failure('node', messageOf(error), remedy)];
  }
  return [ok('node', `Node.js ${node} with SQLite ${sqlite}`)];
}

/** @param problems those of the settings, as ConfigError has them. */
export function checkConfiguration(
  { sources, doubts }: ReturnType<typeof inspectEnvironment>,
  problems: readonly string[],
): readonly DoctorFinding[] {
  const given = sources.filter(({ source }) => source !== 'default').length;
  const wrong = problems.map((problem) =>
    failure('configuration', problem, 'correct it: "largesse serve --help" describes every setting'),
  );
  const doubtful = doubts.map(({ message, remedy }) => warning('configuration', message, remedy));
  const summary = `${given} settings are given, ${sources.length - given} have their default`;
  return [...(wrong.length > 0 ? wrong : [ok('configuration', summary)]), ...doubtful];
}
