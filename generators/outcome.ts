/** What a program with a generated client found: both programs make the same requests. */

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

/** Returns the body of a success. */
export function bodyOf<T>({ data, error }: { readonly data?: T; readonly error?: unknown }): T {
  if (data === undefined) throw new Error(`rejected: ${JSON.stringify(error)}`);
  return data;
}
