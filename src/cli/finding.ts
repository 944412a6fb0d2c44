/** The findings of `largesse doctor`. */

import { setTimeout as wait } from 'node:timers/promises';
import { errorText } from '../platform/system-error.ts';
import { Fault } from '../core/domain/fault.ts';
import { describeFault } from './failure.ts';

/** The checks, in the order of their findings. */
export const checkNames = [
  'node',
  'configuration',
  'key_file',
  'files',
  'disk',
  'database',
  'migrations',
  'durability',
  'clock',
  'backup',
  'verification',
  'emails',
  'payments',
  'versions',
  'service',
  'certificate',
  'public_url',
] as const;

export type CheckName = (typeof checkNames)[number];

export type DoctorFinding = {
  readonly check: CheckName;
  readonly status: 'ok' | 'warning' | 'error';
  readonly message: string;
  /** The advice; null: nothing has to be done. */
  readonly remedy: string | null;
};

export function ok(check: CheckName, message: string): DoctorFinding {
  return { check, status: 'ok', message, remedy: null };
}

export function warning(check: CheckName, message: string, remedy: string): DoctorFinding {
  return { check, status: 'warning', message, remedy };
}

export function failure(check: CheckName, message: string, remedy: string): DoctorFinding {
  return { check, status: 'error', message, remedy };
}

/** The message of an error, without a stack trace. */
export function messageOf(error: unknown): string {
  if (error instanceof Fault) return describeFault(error);
  return errorText(error);
}

/** Runs a check within a time limit. An error of the check is a finding. */
export async function checked(
  check: CheckName,
  run: () => Promise<readonly DoctorFinding[]>,
  timeoutMs = 20_000,
): Promise<readonly DoctorFinding[]> {
  const over = new AbortController();
  const late = wait(timeoutMs, undefined, { signal: over.signal }).then(
    () => [failure(check, `the check did not end within ${timeoutMs / 1_000} s`, 'run this command again')],
    () => [],
  );
  const findings = run().catch((error: unknown) => [
    failure(check, messageOf(error), 'correct the cause, then run this command again'),
  ]);
  try {
    return await Promise.race([findings, late]);
  } finally {
    over.abort();
  }
}
