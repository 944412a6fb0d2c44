/**
 * The strings that take parsers longest, of the maximum length in a request, and the cost of parsing them.
 */

import assert from 'node:assert/strict';
import { show } from '../unit/samples.ts';

/** The processor time for which one request can delay all others. */
const effortMaxMs = 50;
const tries = 5;

/**
 * The repeated parts: separators, digits, starts and ends of tokens, and characters that normalization or
 * case folding change.
 */
const units = [
  ' ', '\t', '-', '0', '9', 'a', 'A', '.', ',', ':', ';', '@', '/', '"', '\\', '%', '+', '=', '&', '*',
  '- ', 'a-', 'a.', '.a', 'a@', '@a.', 'a ', ' a', 'a,', '*,', '0.', '\\"', '"-', '"1-1",', 'W/"', 'gift_card.created,',
  'é', 'e\u0301', '\u0301\u0316', '\u212a', '\u0130', 'Σ', '\uac00', '\u1f82', '😀', '\u200d', '\u00a0', '\n',
]; // prettier-ignore

/** Starts that make a parser continue, and ends that make it fail. */
const starts = ['', 'a', '1', '0.', '-', 'a@', 'https://', '2026-12-24T18:00:00.'];
const ends = ['', '!', 'a', '1', '"', '@example.com'];

/** Strings of just under this many bytes of UTF-8. */
export function* worstStrings(
  bytesMax: number,
  isMeant: (unit: string) => boolean = () => true,
): Generator<string> {
  for (const unit of units.filter(isMeant)) {
    for (const start of starts) {
      for (const end of ends) {
        const left = bytesMax - Buffer.byteLength(start + end);
        yield start + unit.repeat(Math.floor(left / Buffer.byteLength(unit))) + end;
      }
    }
  }
}

/**
 * Fails if the work uses this thread's processor for too long in every try. Time of other processes does not
 * count, and a busy machine does not fail the test.
 */
export async function assertQuick(name: string, work: () => unknown): Promise<void> {
  const taken: number[] = [];
  while (taken.length < tries) {
    const before = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(before);
    taken.push((user + system) / 1_000);
    if ((taken.at(-1) ?? 0) <= effortMaxMs) return;
  }
  assert.fail(`${name} takes ${Math.min(...taken)} ms`);
}

/** Shortens a string for a message. */
export function shorten(text: string): string {
  return text.length <= 40 ? show(text) : `${show(text.slice(0, 24))}…${show(text.slice(-12))}`;
}
