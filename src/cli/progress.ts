/** How far a long command has come: a bar at a terminal, now and then a line elsewhere. On standard error. */

export type Progress = {
  /** Begins a stretch of so many rows, of which some may be done. */
  begin(what: string, rows: { readonly total: number; readonly done: number }): void;
  /** Tells how many rows are done by now. */
  reach(rows: number): void;
  /** Ends the stretch. */
  end(): void;
};

const barWidth = 24;
const barPeriodMs = 100;
const linePeriodMs = 5_000;

/** @param isSilent leaves out the lines, not the bar: for those who want nothing but JSON. */
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
    const text = `${what}: ${done.toLocaleString('en')} of ${total.toLocaleString('en')} rows, ${rate} rows/s`;
    const bar = '#'.repeat(Math.round(part * barWidth)).padEnd(barWidth, '.');
    // To the first column, and away with what the last text was longer by.
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
