/**
 * Corrected email addresses in a table: a line has an address that did not work and, in any other cell, the right one. Other
 * cells are ignored, so no column needs a heading.
 */

import { textOfCell } from '../../../core/tables/domain/csv.ts';
import { emailKey, emailLengthMax, parseEmail } from '../../../core/domain/email-address.ts';
import { Steps, type Paused } from '../../../core/domain/paused.ts';
import { MalformedTable, tableOf } from '../../../core/tables/domain/table-text.ts';

/** Whole lists of recipients are accepted as well, of which few lines are corrections. */
export const correctionLinesMax = 10_000;

export const tooManyCorrections = `is above the limit of ${correctionLinesMax.toLocaleString('en')} lines`;

export type Corrections = {
  /** The right addresses by the keys of those that did not work. */
  readonly right: ReadonlyMap<string, string>;
  /** The number of addresses that did not work and for which the table has no valid address, or several. */
  readonly unclear: number;
};

/**
 * @param wrong the keys of the addresses that did not work.
 * @throws MalformedTable if the table cannot be read, or has too many lines.
 */
export function* readCorrections(text: string, wrong: ReadonlySet<string>): Paused<Corrections> {
  const found = new Map<string, Set<string | null>>();
  let lines = 0;
  const steps = new Steps();
  for (const { line, cells, start, end } of tableOf(text).records) {
    if (steps.isDue(end - start)) yield;
    lines += 1;
    if (lines > correctionLinesMax) throw new MalformedTable(line, tooManyCorrections);
    const addresses = new Map(cells.flatMap(addressesIn));
    const [old, ...more] = [...addresses.keys()].filter((key) => wrong.has(key));
    if (old === undefined) continue;
    addresses.delete(old);
    const [right] = addresses.values();
    if (right === undefined) continue;
    const parsed = parseEmail(right);
    // At most one address of a line is parsed, which bounds the time.
    const isClear = more.length === 0 && addresses.size === 1 && parsed.ok;
    found.set(old, (found.get(old) ?? new Set()).add(isClear ? parsed.value.address : null));
  }
  const right = new Map<string, string>();
  for (const [old, addresses] of found) {
    const [address] = addresses;
    if (addresses.size === 1 && typeof address === 'string') right.set(old, address);
  }
  return { right, unclear: found.size - right.size };
}

/** The key and the text of a cell that is meant as an address. */
function addressesIn(cell: string): readonly (readonly [key: string, text: string])[] {
  const text = textOfCell(cell).trim();
  return text.length <= emailLengthMax && text.includes('@') && !/\s/.test(text)
    ? [[emailKey(text), text]]
    : [];
}
