import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import test from 'node:test';
import { showProgress } from '../../src/cli/progress.ts';

/** Erases the rest of a terminal's line. */
const eraseRest = '\u001B[K';

/** Shows 5 of 10 rows and then all, and returns what was written. */
function shown({
  isTerminal,
  isSilent,
}: {
  readonly isTerminal: boolean;
  readonly isSilent: boolean;
}): string {
  const written: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk));
      done();
    },
  });
  // The functions use only `write` and `isTTY`.
  const progress = showProgress(
    Object.assign(stream, { isTTY: isTerminal }) as unknown as NodeJS.WriteStream,
    {
      isSilent,
    },
  );
  progress.begin('verified', { total: 10, done: 0 });
  progress.reach(5);
  progress.reach(10);
  progress.end();
  return written.join('');
}

test('a terminal shows one line that is rewritten, with the rows and their rate', () => {
  for (const isSilent of [false, true]) {
    const text = shown({ isTerminal: true, isSilent });
    assert.equal(text.split('\n').length, 2);
    const before = text.slice(0, text.indexOf(eraseRest));
    const after = text.slice(text.lastIndexOf('\r'));
    assert.match(before, /^\r\[\.{24}\] verified: 0 of 10 rows, 0 rows\/s$/);
    assert.match(after.replace(eraseRest, ''), /^\r\[#{24}\] verified: 10 of 10 rows, [\d,]+ rows\/s\n$/);
  }
});

test('a file or a pipe receives whole lines, and with JSON nothing', () => {
  assert.match(shown({ isTerminal: false, isSilent: false }), /^verified: 10 of 10 rows, [\d,]+ rows\/s\n$/);
  assert.equal(shown({ isTerminal: false, isSilent: true }), '');
});
