/** The findings that concern a person, for the page “Today”. */

import { mayOwnersSetMachine } from '../../../core/stores/service/machine.ts';
import type { MachineRule } from '../../../core/stores/domain/machine.ts';
import {
  emailLateMs,
  findMachineProblems,
  type HealthFinding,
  type MachineCondition,
} from '../domain/health.ts';
import { isPermitted, type StaffMember } from '../../../core/staff/domain/staff.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import { findLateEmails } from '../../emails/storage/queue.ts';
import { listProviders } from '../../online-sales/storage/provider.ts';
import { findLastBackup } from '../../../core/stores/storage/setup-step.ts';
import type { Script } from '../../../database/sql/sql.ts';

/** Whether `findHealth` can find something: if not, no statement runs. @param now in ms, of the machine. */
export function mayBeIll(machine: MachineCondition, now: number): boolean {
  return machine.hasLateEmails || machine.hasRejectedHints || findMachineProblems(machine, now).length > 0;
}

/**
 * The condition of the machine can be a minute old, so emails and backups are read again. The machine concerns owners who
 * may decide about it; emails concern those who may change them.
 */
export function* findHealth(
  ctx: Context,
  {
    store,
    member,
    machine,
    rule,
  }: {
    readonly store: Store;
    readonly member: StaffMember;
    readonly machine: MachineCondition;
    readonly rule: MachineRule;
  },
): Script<readonly HealthFinding[]> {
  const now = ctx.wallClock.now();
  const findings: HealthFinding[] = [];
  if (machine.hasLateEmails && isPermitted(member, 'changeEmails')) {
    const late = yield* findLateEmails(store.id, ctx.clock.now() - emailLateMs);
    if (late) findings.push({ about: 'late-emails', level: 'error', late });
  }
  if (machine.hasRejectedHints && isPermitted(member, 'changeSettings'))
    for (const { kind, hintsRejectedSince: since } of yield* listProviders(store.id))
      if (since !== null) findings.push({ about: 'payment-notifications', level: 'warning', kind, since });
  const problems = findMachineProblems(machine, now);
  if (problems.length === 0 || !isPermitted(member, 'changeSettings')) return findings;
  if (!(yield* mayOwnersSetMachine(store, rule))) return findings;
  if (!machine.backup || problems.every(({ about }) => about !== 'backup')) return [...findings, ...problems];
  const backup = { ...machine.backup, lastAt: yield* findLastBackup() };
  return [...findings, ...findMachineProblems({ ...machine, backup }, now)];
}
