/** The progress of a long command on standard error: a bar in a terminal, otherwise a line every few seconds. */

export type Progress = {
  /** Starts a stage with a number of rows, of which some can already be done. */
  begin(what: string, rows: { readonly total: number; readonly done: number }): void;
  /** Sets the number of rows that are done. */
  reach(rows: number): void;
  /** Ends the stage. */
  end(): void;
};

const barWidth = 24;
const barPeriodMs = 100;
const linePeriodMs = 5_000;

/** @param isSilent omits the lines but not the bar, for commands that print only JSON. */
export function showProgress(
  stream: NodeJS.WriteStream,
  { isSilent }: { readonly isSilent: boolean },
): Progress {
  const isTerminal = stream.isTTY;
  let stretch = { what: '', total: 0, done: 0, since: 0, doneBefore: 0 };
  let shownAt = 0;
  const show = (): void => {
    const { what, total, done, since, doneBefore } = stretch;
    const seconds = Math.max((performance.now() - since) / 1_000, 0.001);
    const part = total === 0 ? 1 : Math.min(done / total, 1);
    const rate = Math.round((done - doneBefore) / seconds).toLocaleString('en');
    // Rows can be added after they were counted.
    const all = Math.max(done, total).toLocaleString('en');
    const text = `${what}: ${done.toLocaleString('en')} of ${all} rows, ${rate} rows/s`;
    const bar = '#'.repeat(Math.round(part * barWidth)).padEnd(barWidth, '.');
    // Returns to the first column, and erases the rest of a longer previous text.
    if (isTerminal) stream.write(`\r[${bar}] ${text}\u001B[K`);
    else if (!isSilent) stream.write(`${text}\n`);
    shownAt = performance.now();
  };
  return {
    begin(what, { total, done }) {
      stretch = { what, total, done, since: performance.now(), doneBefore: done };
      shownAt = performance.now();
      if (isTerminal) show();
    },
    reach(rows) {
      stretch.done = rows;
      if (performance.now() - shownAt >= (isTerminal ? barPeriodMs : linePeriodMs)) show();
    },
    end() {
      show();
      if (isTerminal) stream.write('\n');
    },
  };
}
