/** The strings that readers of text find hardest, as long as a request may make them, and what reading them costs. */

import assert from 'node:assert/strict';
import { show } from '../unit/samples.ts';

/** Processor time for which one request may keep all others waiting. */
const effortMaxMs = 50;
const tries = 5;

/** What is repeated: separators, digits, what begins or ends a token, what normalization and case folding move. */
const units = [
  ' ', '\t', '-', '0', '9', 'a', 'A', '.', ',', ':', ';', '@', '/', '"', '\\', '%', '+', '=', '&', '*',
  '- ', 'a-', 'a.', '.a', 'a@', '@a.', 'a ', ' a', 'a,', '*,', '0.', '\\"', '"-', '"1-1",', 'W/"', 'gift_card.created,',
  'é', 'e\u0301', '\u0301\u0316', '\u212a', '\u0130', 'Σ', '\uac00', '\u1f82', '😀', '\u200d', '\u00a0', '\n',
]; // prettier-ignore

/** What makes a reader go on, and what makes it fail at the end. */
const starts = ['', 'a', '1', '0.', '-', 'a@', 'https://', '2026-12-24T18:00:00.'];
const ends = ['', '!', 'a', '1', '"', '@example.com'];

/** Strings of just under so many bytes of UTF-8. */
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
 * Fails if the work takes this thread's processor for too long, each time that it is tried. Time in which other
 * processes have the processor is not counted, so a busy machine fails nothing.
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

/** What a message shows of a long string. */
export function shorten(text: string): string {
  return text.length <= 40 ? show(text) : `${show(text.slice(0, 24))}…${show(text.slice(-12))}`;
}
