/** The people who may set up the machine: mail servers, backups and what the page about its health names. */

import { Fault } from '../../domain/fault.ts';
import type { MachineRule } from '../domain/machine.ts';
import type { Store } from '../domain/store.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { hasSeveralRealStores } from '../storage/store.ts';

/** Whether owners decide about the machine. The owner of one of several stores must not, unless the operator allows it. */
export function* isMachineOfOwners(rule: MachineRule): Script<boolean> {
  if (rule === 'operator') return false;
  return rule === 'owner' || !(yield* hasSeveralRealStores());
}

/** Whether the owners of a store may set up the machine. */
export function* mayOwnersSetMachine(
  { demonstration }: Pick<Store, 'demonstration'>,
  rule: MachineRule,
): Script<boolean> {
  // The owner of the demonstration has no password.
  return !demonstration && (yield* isMachineOfOwners(rule));
}

/** @throws Fault `insufficient-scope` if the owners of a store may not set up the machine. */
export function* assertOwnersSetMachine(
  store: Pick<Store, 'demonstration'>,
  rule: MachineRule,
): Script<void> {
  if (!(yield* mayOwnersSetMachine(store, rule))) throw new Fault('insufficient-scope');
}
