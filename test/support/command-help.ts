/** Prints the help of commands without starting a process. */

import { CommanderError, type Command } from 'commander';
import { program } from '../../src/cli/program.ts';

/**
 * Returns what `largesse store create --help` prints, for the words `store create`. @throws CommanderError as
 * the command line does.
 */
export function helpOf(...words: readonly string[]): string {
  const root = program();
  let output = '';
  const capture = (command: Command): void => {
    command.configureOutput({ writeOut: (text) => void (output += text), writeErr: () => undefined });
    for (const below of command.commands) capture(below);
  };
  capture(root);
  try {
    root.parse([...words, '--help'], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return output;
    throw error;
  }
  throw new Error(`no help: ${words.join(' ')}`);
}
