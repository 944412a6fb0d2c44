/** Access tokens that developers of a store create and revoke. */

import type { Scope } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { Token } from '../../../core/stores/storage/token.ts';
import { createToken, revoke, type NewToken } from '../../../core/stores/service/token.ts';
import { asStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

type GrantedToken = {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null: it does not expire. */
  readonly periodMs: number | null;
};

/** Creates a token. The secret is returned only once. @throws Fault as `assertMay` does. */
export function* grantToken(ctx: Context, by: ByStaff, granted: GrantedToken): Script<NewToken> {
  return yield* asStaff(ctx, by, {
    permission: 'manageTokens',
    change: () => createToken(ctx, { store: by.store, ...granted }),
    entryOf: ({ token: { id, name, scopes } }) => ({
      action: 'token-created',
      subjectId: id,
      details: { name, scopes: scopes.join(', ') },
    }),
  });
}

/** Revokes a token. @throws Fault `not-found` if the store has no such active token, and as `assertMay` does. */
export function* endToken(ctx: Context, by: ByStaff, id: number): Script<Token> {
  return yield* asStaff(ctx, by, {
    permission: 'manageTokens',
    change: () => revoke(ctx, by.store, id),
    entryOf: ({ name }) => ({ action: 'token-revoked', subjectId: id, details: { name } }),
  });
}
