/** Access tokens that developers of a store create and revoke. */

import type { Scope } from '../../domain/stores/store.ts';
import type { Context } from '../../storage/context.ts';
import type { Script } from '../../storage/sql/sql.ts';
import type { Token } from '../../storage/stores/token.ts';
import { createToken, revoke, type NewToken } from '../stores/token.ts';
import { asStaff, type ByStaff } from './as-staff.ts';

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
