/** The accountants of a store, which an owner adds, and the emails that an owner sends to them. */

import { accountantsMax, type Accountant } from '../domain/accountant.ts';
import type { EmailAddress } from '../../../core/domain/email-address.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  deleteAccountant,
  endLinks,
  findAccountant,
  insertAccountant,
  listAccountants,
  updateAccountant,
} from '../storage/accountant.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { claimStore } from '../../../core/stores/storage/store.ts';
import { makeWorkDue } from '../../../core/stores/storage/work.ts';
import { enqueueMonth, isMonthClosed, lastMonth } from './accountants.ts';
import { reserveTestEmail } from '../../emails/service/test-email.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

type Choices = Pick<Accountant, 'language' | 'format'>;

function entryOf(
  { address }: Pick<Accountant, 'address'>,
  details: { readonly removed?: true; readonly linksEnded?: true } = {},
) {
  return {
    action: 'settings-changed',
    subjectId: null,
    details: { fields: 'accountant', email: address, ...details },
  } as const;
}

/** @returns why it was not added: it has the address already, or the most accountants. @throws Fault as `assertMay` does. */
export function* addAccountant(
  ctx: Context,
  by: ByStaff,
  { email, ...choices }: Choices & { readonly email: EmailAddress },
): Script<'added' | 'taken' | 'full'> {
  const storeId = by.store.id;
  return yield* asStaff<'added' | 'taken' | 'full'>(ctx, by, {
    permission: 'changeSettings',
    *change() {
      // Two owners who add one at the same time do not exceed the maximum.
      yield* claimStore(by.store.domain);
      const present = yield* listAccountants(storeId);
      if (present.some(({ addressKey }) => addressKey === email.key)) return 'taken';
      if (present.length >= accountantsMax) return 'full';
      const added = { storeId, id: ctx.random.id(), createdAt: ctx.clock.now(), ...choices };
      yield* insertAccountant({ ...added, address: email.address, addressKey: email.key });
      yield* makeWorkDue(ctx, storeId, ['months']);
      return 'added';
    },
    entryOf: (result) => (result === 'added' ? entryOf(email) : null),
  });
}

/** @throws Fault `not-found`. */
function* requireAccountant(by: ByStaff, id: number): Script<Accountant> {
  const accountant = yield* findAccountant({ storeId: by.store.id, id });
  if (!accountant) throw new Fault('not-found');
  return accountant;
}

/** Changes the language and the format of later emails. @throws Fault `not-found`, and as `assertMay` does. */
export function* changeAccountant(ctx: Context, by: ByStaff, id: number, choices: Choices): Script<null> {
  yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const accountant = yield* requireAccountant(by, id);
      const isSame = accountant.language === choices.language && accountant.format === choices.format;
      if (isSame) return null;
      yield* updateAccountant({ storeId: by.store.id, id, ...choices });
      return accountant;
    },
    entryOf: (changed) => changed && entryOf(changed),
  });
  return null;
}

/** Removes an accountant: emails end, and earlier links. @throws Fault as `assertMay` does. */
export function* removeAccountant(ctx: Context, by: ByStaff, id: number): Script<null> {
  const key = { storeId: by.store.id, id };
  yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const accountant = yield* findAccountant(key);
      yield* deleteAccountant(key);
      return accountant;
    },
    entryOf: (removed) => (removed ? entryOf(removed, { removed: true }) : null),
  });
  return null;
}

/** Ends the links in the emails that were sent. @throws Fault `not-found`, and as `assertMay` does. */
export function* endAccountantLinks(ctx: Context, by: ByStaff, id: number): Script<null> {
  yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const accountant = yield* requireAccountant(by, id);
      yield* endLinks(accountant, ctx.clock.now());
      return accountant;
    },
    entryOf: (accountant) => entryOf(accountant, { linksEnded: true }),
  });
  return null;
}

/** Null: the email is enqueued. Otherwise the month is not closed yet, or how long (ms) the person has to wait. */
export type RequestedEmail = { readonly isOpen: true } | { readonly waitMs: number } | null;

/** Enqueues the email about the last month again, or a test. @throws Fault `not-found`, and as `assertMay` does. */
export function* requestAccountantEmail(
  ctx: Context,
  by: ByStaff,
  { id, kind }: { readonly id: number; readonly kind: 'again' | 'test' },
): Script<RequestedEmail> {
  const month = lastMonth(ctx, by.store);
  const { problem } = yield* asStaff<{ readonly problem: RequestedEmail; readonly to: string }>(ctx, by, {
    permission: 'changeSettings',
    *change() {
      const accountant = yield* requireAccountant(by, id);
      const to = accountant.address;
      if (kind === 'again' && !(yield* isMonthClosed(by.store, month)))
        return { problem: { isOpen: true }, to };
      const waitMs = yield* reserveTestEmail(ctx, { storeId: by.store.id, id: by.member.id });
      if (waitMs > 0) return { problem: { waitMs }, to };
      yield* enqueueMonth(ctx, accountant, { kind, month });
      return { problem: null, to };
    },
    entryOf: (result) =>
      result.problem
        ? null
        : {
            action: 'month-sent',
            subjectId: null,
            details: kind === 'test' ? { email: result.to, test: true } : { month, email: result.to },
          },
  });
  return problem;
}
