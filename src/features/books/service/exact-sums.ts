/** Sums of integers by name, which are exact at any size. */

import { exactOf, type ScannedInteger } from '../../../database/sql/sql.ts';

/** The sum of two integers. */
export function plus(left: ScannedInteger, right: ScannedInteger): ScannedInteger {
  if (typeof left === 'number' && typeof right === 'number') {
    const sum = left + right;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return exactOf(BigInt(left) + BigInt(right));
}

/** A part in a number, which is faster, and the rest in a bigint. */
type Sum = { small: number; large: bigint };

/** The number of a sum is moved to its bigint above this limit. */
const smallMax = 2 ** 52;

export class ExactSums {
  readonly #sums = new Map<string, Sum>();

  add(name: string, value: ScannedInteger): void {
    const sum = this.#sumOf(name);
    if (typeof value === 'bigint' || Math.abs(value) > smallMax) sum.large += BigInt(value);
    else sum.small += value;
    if (Math.abs(sum.small) <= smallMax) return;
    sum.large += BigInt(sum.small);
    sum.small = 0;
  }

  totals(): Readonly<Record<string, bigint>> {
    const entries = [...this.#sums].map(([name, { small, large }]) => [name, large + BigInt(small)]);
    return Object.fromEntries(entries) as Record<string, bigint>;
  }

  #sumOf(name: string): Sum {
    let sum = this.#sums.get(name);
    if (!sum) {
      sum = { small: 0, large: 0n };
      this.#sums.set(name, sum);
    }
    return sum;
  }
}
