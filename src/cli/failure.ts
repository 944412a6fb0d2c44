/** Errors of commands: one message on standard error, and an exit code. */

import { CommanderError } from 'commander';
import { ClockError } from '../platform/clock.ts';
import { ConfigError } from '../start/settings-reader.ts';
import { Fault } from '../core/domain/fault.ts';
import { KeyFileError } from '../platform/key-file.ts';
import { DownloadError } from '../features/upgrade/delivery/download.ts';
import { CopyError } from '../features/moves/service/copy.ts';
import { StartError } from '../start/error.ts';
import { MigrationError } from '../database/schema/migration-error.ts';
import { TimelineFileError } from '../platform/timeline-file.ts';
import { errorText, systemErrorText } from '../platform/system-error.ts';
import { NotWritable } from '../database/sqlite/connection.ts';

/** The command is rejected. The message is for its user. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

const expected = [
  ClockError,
  CommandError,
  CopyError,
  DownloadError,
  KeyFileError,
  StartError,
  MigrationError,
  NotWritable,
  TimelineFileError,
];

/** Prints an error and returns the exit code. */
export function reportFailure(error: unknown): number {
  // Commander has already printed the message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof ConfigError) {
    console.error(error.message);
    return 2;
  }
  if (error instanceof Fault) console.error(`largesse: ${describeFault(error)}`);
  else if (expected.some((kind) => error instanceof kind))
    console.error(`largesse: ${(error as Error).message}`);
  else console.error('largesse:', systemErrorText(error) ?? (isPlain(error) ? error.message : error));
  return error instanceof StartError && error.isPermanent ? 2 : 1;
}

export function describeFault({ code, detail, errors, cause }: Fault): string {
  if (errors) {
    return Object.entries(errors)
      .flatMap(([field, messages]) => messages.map((message) => `${field} ${message}`))
      .join('; ');
  }
  if (code === 'unavailable' && cause instanceof Error)
    return `the database cannot be used: ${errorText(cause)}`;
  if (code === 'store-closed')
    return 'the store is closed, because it is being moved or was moved to another installation';
  // The cause names the file and the remedy.
  if (code === 'not-writable' && cause instanceof Error) return cause.message;
  return detail ?? code.replaceAll('-', ' ');
}

/** Errors of the system or a database, such as a wrong password, need no stack trace. */
function isPlain(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return 'syscall' in error || 'errcode' in error || 'severity' in error || error.constructor === Error;
}
