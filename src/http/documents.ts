/** Documents that are generated once: compressed with the first request for each, and revalidated by ETag. */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isKnown } from './etag.ts';

export type ServedDocument = { readonly type: string; readonly text: string };

/** The API's documentation. */
export type ServedDocumentation = {
  /** Returns the document at a path below the base path: always the same one. */
  readonly find: (path: string) => ServedDocument | undefined;
  /** @param origin the scheme and host that the client uses; empty if unknown. */
  readonly openApi: (origin: string) => ServedDocument;
};

const encoders = {
  br: async (text: string): Promise<Buffer> => {
    const size = Buffer.byteLength(text);
    // The highest quality takes a second for a megabyte.
    const quality = size > 100_000 ? 6 : constants.BROTLI_MAX_QUALITY;
    const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
    const params = { [BROTLI_PARAM_QUALITY]: quality, [BROTLI_PARAM_SIZE_HINT]: size };
    return promisify(brotliCompress)(text, { params });
  },
  gzip: async (text: string): Promise<Buffer> => promisify(gzip)(text),
} as const;

type Encoding = keyof typeof encoders | 'identity';

/** In the order of preference. */
const encodings: readonly Encoding[] = ['br', 'gzip', 'identity'];

type Representations = { readonly hash: string; readonly bodies: Map<Encoding, Promise<Buffer>> };

const made = new WeakMap<ServedDocument, Representations>();

function representationsOf(document: ServedDocument): Representations {
  const known = made.get(document);
  if (known) return known;
  const hash = createHash('sha256').update(document.text).digest('base64url').slice(0, 22);
  const created = { hash, bodies: new Map<Encoding, Promise<Buffer>>() };
  made.set(document, created);
  return created;
}

/** Sends a document in the encoding that the client prefers, or 304 if the client has it. */
export async function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  document: ServedDocument,
): Promise<FastifyReply> {
  const { hash, bodies } = representationsOf(document);
  const encoding = preferredEncoding(request.headers['accept-encoding']);
  // Each representation has its own strong ETag (RFC 9110, 8.8.3.3).
  const etag = `"${hash}${encoding === 'identity' ? '' : `-${encoding}`}"`;
  reply.headers({ etag, vary: 'accept-encoding', 'cache-control': 'no-cache' });
  if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
  if (encoding === 'identity') return reply.type(document.type).send(document.text);
  const body = bodies.get(encoding) ?? encoders[encoding](document.text);
  bodies.set(encoding, body);
  return reply
    .type(document.type)
    .header('content-encoding', encoding)
    .send(await body);
}

/** The encoding with the highest weight; of several, the smallest. Without a header: none (RFC 9110, 12.5.3). */
export function preferredEncoding(acceptEncoding: string | undefined): Encoding {
  const weights = new Map(
    (acceptEncoding ?? '').split(',').map((entry) => {
      const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length);
      const quality = weight === undefined ? 1 : Number(weight);
      return [name === 'x-gzip' ? 'gzip' : name, quality >= 0 && quality <= 1 ? quality : 0] as const;
    }),
  );
  const weightOf = (encoding: Encoding): number => weights.get(encoding) ?? weights.get('*') ?? 0;
  const best = encodings.reduce((one, other) => (weightOf(other) > weightOf(one) ? other : one));
  // A response without an encoding is acceptable unless others are preferred.
  return weightOf(best) > 0 ? best : 'identity';
}
