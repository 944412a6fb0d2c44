/** The lines of a stream, without those that are too long: each message of a host is one line. */

import { Transform } from 'node:stream';

const lineFeed = 0x0a;

/**
 * Passes lines on when they are complete, and keeps at most one in memory. @param bytesMax the longest line, without its end.
 * @param dropped called once for each longer line, of which nothing is passed on.
 */
export function boundedLines(bytesMax: number, dropped: () => void): Transform {
  let parts: Buffer[] = [];
  let bytes = 0;
  let isDropping = false;
  const add = (part: Buffer): void => {
    if (isDropping) return;
    bytes += part.length;
    if (bytes <= bytesMax) return void parts.push(part);
    isDropping = true;
    parts = [];
    dropped();
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let start = 0;
      for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
        add(chunk.subarray(start, end));
        if (!isDropping) this.push(Buffer.concat([...parts, Buffer.of(lineFeed)]));
        parts = [];
        bytes = 0;
        isDropping = false;
        start = end + 1;
      }
      add(chunk.subarray(start));
      done();
    },
  });
}
