/** The body of a response to this program, with a limit on its length. */

import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

/** @throws Error if the response is longer, or ends early. */
export async function textOfResponse(response: IncomingMessage, bytesMax: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length;
    // Leaving the loop ends the connection.
    if (length > bytesMax) throw new Error('the response is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
