/** The page of a sandbox on which a tester pays, and decides what happens to the payment later. */

import {
  sandboxActionsOf,
  actedInSandbox,
  sandboxPaymentAt,
  storeOfSession,
} from '../domain/sandbox-payment.ts';
import type { SandboxAction, SandboxMethod, SandboxPayment } from '../domain/sandbox-payment.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import { changeSandboxPayment, findSandboxPayment } from '../storage/sandbox-payment.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { findStore } from '../../../core/stores/storage/store.ts';
import { isPlayground } from './settings.ts';

export type OpenSandboxPayment = {
  readonly store: Store;
  readonly payment: SandboxPayment;
  readonly actions: readonly SandboxAction[];
};

/** Undefined: there is no such session. */
export function* openSandboxPayment(ctx: Context, id: string): Script<OpenSandboxPayment | undefined> {
  const storeId = storeOfSession(id);
  if (storeId === undefined) return undefined;
  const [found, record] = yield* parallel(findSandboxPayment({ storeId, id }), findStore(storeId));
  if (!found || !record || !isPlayground(ctx, record.store)) return undefined;
  const payment = sandboxPaymentAt(found, ctx.clock.earliest());
  return { store: record.store, payment, actions: sandboxActionsOf(payment) };
}

/** An action that is no longer possible changes nothing. @returns undefined: there is no such session. */
export function* actOnSandboxPayment(
  ctx: Context,
  id: string,
  acted: { readonly action: SandboxAction; readonly method: SandboxMethod },
): Script<SandboxPayment | undefined> {
  const opened = yield* openSandboxPayment(ctx, id);
  if (!opened) return undefined;
  const now = ctx.clock.earliest();
  return yield* changeSandboxPayment(opened.payment, (payment) =>
    actedInSandbox(sandboxPaymentAt(payment, now), { ...acted, now }),
  );
}
