/** The outcome of a program with a generated client. Both programs make the same requests. */

export type Outcome = {
  readonly issued: { readonly balance: string; readonly codeLength: number };
  readonly retrieved: string;
  readonly found: boolean;
  readonly changed: string | null;
  readonly redeemed: { readonly amount: string; readonly balance: string };
  readonly reversed: { readonly kind: string; readonly balance: string };
  readonly isDisabled: boolean;
  readonly activated: { readonly balance: string; readonly expiresOn: string | null };
  readonly stock: { readonly sold: number; readonly left: number };
  readonly rejected: { readonly status: number; readonly type: string; readonly errors: unknown };
};

type Moved = {
  readonly transaction: { readonly kind: string; readonly amount: string };
  readonly gift_card: { readonly balance: string };
};

/** The responses to the requests with one card. */
type Responses = {
  readonly issued: { readonly balance: string; readonly code: string };
  readonly retrieved: { readonly balance: string };
  readonly isFound: boolean;
  readonly changed: { readonly note: string | null };
  readonly redeemed: Moved;
  readonly reversed: Moved;
  readonly disabled: { readonly disabled_at: string | null };
  readonly error: { readonly status: number; readonly type: string; readonly errors?: unknown };
};

export function outcomeOfCard(responses: Responses): Omit<Outcome, 'activated' | 'stock'> {
  const { issued, retrieved, isFound, changed, redeemed, reversed, disabled, error } = responses;
  return {
    issued: { balance: issued.balance, codeLength: issued.code.length },
    retrieved: retrieved.balance,
    found: isFound,
    changed: changed.note,
    redeemed: { amount: redeemed.transaction.amount, balance: redeemed.gift_card.balance },
    reversed: { kind: reversed.transaction.kind, balance: reversed.gift_card.balance },
    isDisabled: disabled.disabled_at !== null,
    rejected: { status: error.status, type: error.type, errors: error.errors },
  };
}

/** Returns the body of a success. */
export function bodyOf<T>({ data, error }: { readonly data?: T; readonly error?: unknown }): T {
  if (data === undefined) throw new Error(`rejected: ${JSON.stringify(error)}`);
  return data;
}
