/** Compressed responses. Documents and files that do not change are compressed once, and revalidated by ETag. */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isKnown } from './etag.ts';

export type ServedDocument = { readonly type: string; readonly content: string | Buffer };

/** The API's documentation for clients of one origin. */
export type ServedDocumentation = {
  /** Returns the document at a path below the base path: always the same one. */
  readonly find: (path: string) => ServedDocument | undefined;
};

/** @param origin the scheme and host that the client uses; empty if unknown. */
export type DocumentationOf = (origin: string) => ServedDocumentation;

const encoders = {
  br: async (content: string | Buffer): Promise<Buffer> => {
    const size = Buffer.byteLength(content);
    // The highest quality takes a second for a megabyte.
    const quality = size > 100_000 ? 6 : constants.BROTLI_MAX_QUALITY;
    const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
    const params = { [BROTLI_PARAM_QUALITY]: quality, [BROTLI_PARAM_SIZE_HINT]: size };
    return promisify(brotliCompress)(content, { params });
  },
  gzip: async (content: string | Buffer): Promise<Buffer> => promisify(gzip)(content),
} as const;

type Encoding = keyof typeof encoders | 'identity';

/** In the order of preference. */
const encodings: readonly Encoding[] = ['br', 'gzip', 'identity'];

type Representations = { readonly hash: string; readonly bodies: Map<Encoding, Promise<Buffer>> };

const made = new WeakMap<ServedDocument, Representations>();

function representationsOf(document: ServedDocument): Representations {
  const known = made.get(document);
  if (known) return known;
  const hash = createHash('sha256').update(document.content).digest('base64url').slice(0, 22);
  const created = { hash, bodies: new Map<Encoding, Promise<Buffer>>() };
  made.set(document, created);
  return created;
}

/** The types whose formats are compressed already. */
const compressedTypes = /^(?:font\/woff2|image\/(?:png|webp|jpeg))$/;

/**
 * Sends a document in the encoding that the client prefers, or 304 if the client has it.
 * @param cacheControl how long a client keeps it without a request; by default it asks each time.
 */
export async function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  document: ServedDocument,
  cacheControl = 'no-cache',
): Promise<FastifyReply> {
  const { hash, bodies } = representationsOf(document);
  const encoding = compressedTypes.test(document.type)
    ? 'identity'
    : preferredEncoding(request.headers['accept-encoding']);
  // Each representation has its own strong ETag (RFC 9110, 8.8.3.3).
  const etag = `"${hash}${encoding === 'identity' ? '' : `-${encoding}`}"`;
  reply.headers({ etag, vary: 'accept-encoding', 'cache-control': cacheControl });
  if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
  if (encoding === 'identity') return reply.type(document.type).send(document.content);
  const body = bodies.get(encoding) ?? encoders[encoding](document.content);
  bodies.set(encoding, body);
  return reply
    .type(document.type)
    .header('content-encoding', encoding)
    .send(await body);
}

/** It takes half a millisecond for a page. */
const pageQuality = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };

/** Compresses and sends a page. It must not have a secret of a session, because the length can reveal it (BREACH). */
export async function sendCompressed(
  request: FastifyRequest,
  reply: FastifyReply,
  page: string,
): Promise<FastifyReply> {
  reply.header('vary', 'accept-encoding');
  const encoding = preferredEncoding(request.headers['accept-encoding']);
  if (encoding === 'identity') return reply.send(page);
  const body = await (encoding === 'br' ? promisify(brotliCompress)(page, pageQuality) : encoders.gzip(page));
  return reply.header('content-encoding', encoding).send(body);
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
