/**
 * The rows of the CSV file, and what a gift card must look like that was issued from one.
 * Amounts are counted in the currency's smallest unit, as BigInt: a float cannot hold 0.10.
 */
import { createHash } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import type { CreateGiftCard, GiftCard } from '../packages/client/src/index.ts';
import { RowProblem } from './checked-card.ts';

const columns = [
  'store',
  'code',
  'initial_value',
  'expires_on',
  'email',
  'recipient_email',
  'note',
  'message',
] as const;

export interface Row extends Record<(typeof columns)[number], string> {
  /** The number in the spreadsheet: row 1 is the header, row 2 the first card. */
  number: number;
  /** Made from the row's content, so that it does not depend on the row's place in the file. */
  key: string;
}

/** Reads the whole file. @throws Error with every row that is not valid. */
export function readRows(csv: Buffer, { stores }: { stores: ReadonlySet<string> }): Row[] {
  const [header = [], ...records] = parse(csv, { bom: true });
  if (header.join() !== columns.join()) {
    throw new Error(`expected the columns ${columns.join()}, found ${header.join()}`);
  }
  const seen = new Map<string, number>();
  const rows = records.map((record, index): Row => {
    const field = (name: (typeof columns)[number]): string => record[columns.indexOf(name)] ?? '';
    // Two equal rows are two cards, so the second gets another key than the first.
    const content = JSON.stringify(record);
    const occurrence = (seen.get(content) ?? 0) + 1;
    seen.set(content, occurrence);
    return {
      number: index + 2,
      key: hash('issue', content, String(occurrence)),
      store: field('store'),
      code: field('code'),
      initial_value: field('initial_value'),
      expires_on: field('expires_on'),
      email: field('email'),
      recipient_email: field('recipient_email'),
      note: field('note'),
      message: field('message'),
    };
  });
  const problems = rows.flatMap((row) => {
    if (!stores.has(row.store)) return [`row ${row.number}: no token for the store "${row.store}"`];
    if (!/^\d+(\.\d+)?$/.test(row.initial_value)) {
      return [`row ${row.number}: "${row.initial_value}" is not an amount`];
    }
    return [];
  });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return rows;
}

/** An Idempotency-Key: different for different parts, the same for the same ones. */
export function hash(...parts: string[]): string {
  return `import-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 40)}`;
}

/** The parameters of a creation: what the row leaves empty is left out. */
export function parametersOf(row: Row): CreateGiftCard & { external_id?: undefined } {
  const { code, initial_value, expires_on, email, recipient_email, note, message } = row;
  const others = { code, expires_on, email, recipient_email, note, message };
  const given = Object.entries(others).filter(([, value]) => value !== '');
  return { initial_value, ...Object.fromEntries(given) };
}

/** Each address of the row once. */
export function addressesOf(row: Row): string[] {
  return [...new Set([row.email, row.recipient_email])].filter((address) => address !== '');
}

/** The fields of a card that follow from its row alone. */
export type Expected = Pick<
  GiftCard,
  | 'initial_value'
  | 'balance'
  | 'expires_on'
  | 'customer_email'
  | 'recipient_email'
  | 'note'
  | 'message'
  | 'line_item_id'
  | 'user_id'
  | 'order_id'
>;

/** A card as it was issued from the row; `decimals` are those of the store's currency. */
export function expectedAtIssue(row: Row, { decimals }: { decimals: number }): Expected {
  const value = formatUnits(parseUnits(row.initial_value, { decimals }), { decimals });
  return {
    initial_value: value,
    balance: value,
    expires_on: row.expires_on || null,
    customer_email: row.email || null,
    recipient_email: row.recipient_email || null,
    note: row.note || null,
    message: row.message || null,
    line_item_id: null,
    user_id: null,
    order_id: null,
  };
}

/**
 * Returns the changes of every seventh row: half of the value is spent, the note says so, and the card is
 * valid until the end of its year. It depends on the row only, so that a second run recognizes it.
 */
export function changesTo(row: Row, { decimals }: { decimals: number }) {
  return {
    balance: formatUnits(parseUnits(row.initial_value, { decimals }) / 2n, { decimals }),
    expires_on: `${row.expires_on.slice(0, 4) || '2040'}-12-31`,
    note: `${row.note}\nHalf was spent before the move.`.trim(),
  };
}

/** The differences between a card and its expected fields, as messages. */
export function differences(card: GiftCard, expected: Partial<GiftCard>): string[] {
  const actual = new Map<string, unknown>(Object.entries(card));
  return Object.entries(expected).flatMap(([name, wanted]) => {
    const found = actual.get(name);
    const same = name.endsWith('_email') ? sameAddress(found, wanted) : found === wanted;
    return same ? [] : [`${name} is ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`];
  });
}

/** Compares addresses without case: the service returns the spelling that it stored first. */
export function sameAddress(one: unknown, other: unknown): boolean {
  if (typeof one !== 'string' || typeof other !== 'string') return one === other;
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}

/** The last four letters or digits of a code, as the service returns them. */
export function lastCharacters(code: string): string {
  return code.replaceAll(/[\s-]/g, '').slice(-4).toLowerCase();
}

export function decimalsOf(amount: string): number {
  return amount.split('.')[1]?.length ?? 0;
}

/** `"12.5"` with 2 decimals is 1250n. An amount with more decimals than the currency has is never rounded. */
export function parseUnits(amount: string, { decimals }: { decimals: number }): bigint {
  const [whole = '', fraction = ''] = amount.split('.');
  if (fraction.length > decimals) throw new RowProblem(`${amount} has more than ${decimals} decimals`);
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}

/** 1250n with 2 decimals is `"12.50"`. */
export function formatUnits(units: bigint, { decimals }: { decimals: number }): string {
  if (decimals === 0) return units.toString();
  const digits = units.toString().padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
