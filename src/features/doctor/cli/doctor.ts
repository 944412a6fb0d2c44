/** `largesse doctor` */

import type { Command } from 'commander';
import type { SettingSource } from '../../../start/setting-sources.ts';
import { examine } from './examine.ts';
import type { DoctorFinding } from '../../../cli/finding.ts';
import { print, printJson } from '../../../cli/output.ts';

const marks = { ok: '✓', warning: '!', error: '✗' } as const;

export function addDoctorCommand(root: Command): void {
  root
    .command('doctor')
    .description(
      'check the settings, files, keys, database, clock, disk, mail server and proxy, and say what to do; exit with 1 if a check fails, with 2 if a setting is invalid',
    )
    .option('--json', 'print JSON')
    .action(async ({ json }: { readonly json?: boolean }) => {
      const { findings, settings, isConfigured } = await examine();
      const isSound = findings.every(({ status }) => status !== 'error');
      if (json) printJson({ ok: isSound, findings, settings });
      else {
        for (const finding of findings) printFinding(finding, settings);
        print('');
        print(conclusionOf(findings, isConfigured));
      }
      if (!isSound) process.exitCode = isConfigured ? 1 : 2;
    });
}

function printFinding(
  { check, status, message, remedy }: DoctorFinding,
  settings: readonly SettingSource[],
): void {
  print(`${marks[status]} ${check.replaceAll('_', ' ')}: ${message}`);
  if (remedy !== null) print(`    → ${remedy}`);
  if (check !== 'configuration' || status !== 'ok') return;
  for (const { variable, source, text } of settings) {
    if (source === 'file') print(`    ${variable} from the file ${text}`);
    if (source === 'environment') print(`    ${variable}=${text ?? '[not shown]'}`);
  }
}

function conclusionOf(findings: readonly DoctorFinding[], isConfigured: boolean): string {
  if (!isConfigured) return 'A setting is invalid. Other checks need valid settings.';
  const errors = findings.filter(({ status }) => status === 'error').length;
  const warnings = findings.filter(({ status }) => status === 'warning').length;
  if (errors + warnings === 0) return 'Every check succeeded.';
  return `Errors: ${errors}. Warnings: ${warnings}.`;
}
