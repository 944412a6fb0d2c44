/** The body of a response to this program, with a limit on its length. */

import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

/** A response has more bytes than this program reads. */
export class ResponseTooLong extends Error {
  override readonly name = 'ResponseTooLong';
}

/** @throws ResponseTooLong; Error if it ends early. */
export async function textOfResponse(response: IncomingMessage, bytesMax: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length;
    // Leaving the loop ends the connection.
    if (length > bytesMax) throw new ResponseTooLong('the response is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
