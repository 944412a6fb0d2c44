/** The settings of the files for DATEV, the program of German accountants: whose books they are, and how they are kept. */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';

export type Datev = {
  /** The accountant’s number (Berater), 1001 to 9999999. */
  readonly consultant: number;
  /** The accountant’s number for the business (Mandant), 1 to 99999. */
  readonly client: number;
  /** The month with which a fiscal year begins, 1 to 12. */
  readonly firstMonth: number;
  /** The digits of an account’s number (Sachkontenlänge), 4 to 8. */
  readonly accountLength: number;
};

export const datevDefaults = { firstMonth: 1, accountLength: 4 } as const;

/** The numbers that DATEV accepts (DATEV format, header 700). */
const datevRanges = {
  consultant: [1001, 9_999_999],
  client: [1, 99_999],
  firstMonth: [1, 12],
  accountLength: [4, 8],
} as const satisfies Readonly<Record<keyof Datev, readonly [number, number]>>;

/** Parses `29098/55003`, or `29098/55003/7/6` with the first month of a fiscal year and the length of accounts. */
export function parseDatev(text: string): Parsed<Datev> {
  const error = 'must be consultant/client, such as 29098/55003, or consultant/client/month/length';
  if (!/^\d{4,7}\/\d{1,5}(?:\/\d{1,2}\/\d)?$/.test(text)) return rejected(error);
  const [consultant, client, firstMonth, accountLength] = text.split('/').map(Number);
  const datev = {
    consultant: consultant ?? 0,
    client: client ?? 0,
    firstMonth: firstMonth ?? datevDefaults.firstMonth,
    accountLength: accountLength ?? datevDefaults.accountLength,
  };
  const isValid = Object.entries(datevRanges).every(
    ([name, [min, max]]) => datev[name as keyof Datev] >= min && datev[name as keyof Datev] <= max,
  );
  return isValid ? accepted(datev) : rejected(error);
}

/** The text from which `parseDatev` reads the settings. */
export function formatDatev({ consultant, client, firstMonth, accountLength }: Datev): string {
  return [consultant, client, firstMonth, accountLength].join('/');
}
