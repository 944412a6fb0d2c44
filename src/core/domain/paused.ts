/** Work on long texts in steps, so that other requests run between them. The text that a step reads is bounded. */

/** Yields between its steps. */
export type Paused<Result> = Generator<undefined, Result>;

/** The UTF-16 units of a step, which take a few milliseconds at most. A step ends with the row that reaches them. */
export const stepLength = 16_384;

/** The work of a row apart from that of its text, in UTF-16 units. */
const rowLength = 256;

/** Counts the text that was read since the last pause. */
export class Steps {
  #length = 0;

  /** Whether a pause is due after a text. */
  isDue(length: number): boolean {
    this.#length += length + rowLength;
    if (this.#length < stepLength) return false;
    this.#length = 0;
    return true;
  }
}

/** The result of short work, without pauses. */
export function resultOf<Result>(work: Paused<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
