/** The codes of a sandbox: each makes the API respond in one way. They are cards of each of its stores. */

export type FixedCode = {
  readonly code: string;
  /** For developers: what it is, and what the API responds. */
  readonly about: string;
};

export const fixedCodes = {
  empty: {
    code: 'sandboxempty',
    about: 'A card without a balance: `insufficient-balance`, with `available` 0',
  },
  low: {
    code: 'sandboxlow1',
    about: 'A card with one cent, or the smallest amount of the currency: `insufficient-balance` for more',
  },
  expired: { code: 'sandboxexpired', about: 'A card that has expired: `card-expired`' },
  suspended: { code: 'sandboxsuspended', about: 'A card that is suspended: `card-suspended`' },
  error: {
    code: 'sandboxerror500',
    about: 'A 500 `internal-error`, each time: nothing has changed, and a retry fails as well',
  },
  slow: {
    code: 'sandboxslow',
    about: 'A card with 100 whose response comes after 10 seconds, for timeouts of clients',
  },
} as const satisfies Readonly<Record<string, FixedCode>>;

const all: ReadonlySet<string> = new Set(Object.values(fixedCodes).map(({ code }) => code));

/** Whether a canonical code is one of them, which no other card can have: it would be known to everyone. */
export function isFixedCode(code: string): boolean {
  return all.has(code);
}
