/**
 * Backups in a bucket of S3, or of a service with the same interface. Its host must have public addresses, as with
 * webhooks, and TLS cannot be switched off.
 */

import { createReadStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { isIP } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { rootCertificates } from 'node:tls';
import { BackupError, readBackupName, type BackupTrouble, type S3Bucket } from '../domain/backup.ts';
import { awsEncoded, awsQuery, emptyHash, signAwsRequest } from '../platform/aws-signature.ts';
import type { Clock } from '../../../platform/clock.ts';
import { codeOf } from '../../../platform/error-code.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { textOfResponse } from '../../../platform/response-text.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { PublicNetwork } from '../../../delivery/public-socket.ts';
import {
  checkedLookup,
  ForbiddenAddress,
  systemResolve,
  Unresolved,
} from '../../../delivery/public-lookup.ts';
import { hostError } from '../../webhooks/delivery/url.ts';
import { hashesTo } from './folder-target.ts';
import type { BackupTarget } from './target.ts';

/** Without a byte for so long, the connection ends. */
const silenceMs = 60_000;
const errorBytesMax = 16_384;
/** A page of a list has at most 1,000 names of 1,024 characters. */
const listBytesMax = 4 * 2 ** 20;
const listPagesMax = 20;
/** S3 accepts no larger object in one request. */
const objectBytesMax = 5 * 2 ** 30;

/** Parses the address of a service: `s3.eu-central-1.amazonaws.com`, with `https://` and a port if it has them. */
export function parseBucketHost(text: string): Parsed<Pick<S3Bucket, 'host' | 'port'>> {
  const form = rejected('must be the address of the storage, such as https://s3.eu-central-1.amazonaws.com');
  if (text.length > 300 || /[\s?#@\\]/.test(text)) return form;
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `https://${text}`);
  if (!url || url.protocol !== 'https:' || !['', '/'].includes(url.pathname)) return form;
  const host = url.hostname.replace(/\.$/, '');
  if (isIP(host) !== 0 || host.startsWith('[')) return form;
  const error = hostError(host);
  return error === undefined
    ? accepted({ host, port: url.port === '' ? 443 : Number(url.port) })
    : rejected(error);
}

type Parts = {
  /** The folder of this installation, without a slash. */
  readonly folder: string;
  readonly secret: Secret;
  readonly clock: Pick<Clock, 'now'>;
  readonly network: PublicNetwork;
};

type Call = {
  readonly method: 'PUT' | 'GET' | 'DELETE';
  /** Null: the bucket itself. */
  readonly key: string | null;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: { readonly path: string; readonly bytes: number; readonly sha256: string };
  readonly signal?: AbortSignal;
};

export function s3Target(bucket: S3Bucket, { folder, secret, clock, network }: Parts): BackupTarget {
  const call: SendCall = (options) => callS3(bucket, { ...options, secret, network, at: clock.now() });
  const keyOf = (name: string): string => `${folder}/${name}`;
  const drained = async (options: Call): Promise<string> =>
    await textOfResponse(await call(options), listBytesMax);
  const list = async (): Promise<readonly string[]> =>
    (await listKeys(call, `${folder}/`)).map((key) => key.slice(folder.length + 1));
  const remove = async (name: string): Promise<void> => {
    await drained({ method: 'DELETE', key: keyOf(name) });
  };
  return {
    list,
    remove,
    async prepare() {
      await list();
    },
    async put(name, file, signal) {
      if (file.bytes > objectBytesMax)
        throw new BackupError('tooLarge', `${file.bytes} bytes are more than ${objectBytesMax}`);
      try {
        await drained({ method: 'PUT', key: keyOf(name), body: file, signal });
        const response = await call({ method: 'GET', key: keyOf(name), signal });
        if (!(await explained(async () => await hashesTo(response, file))))
          throw new BackupError('differs', 'the object differs from what was sent');
      } catch (error) {
        // An upload without a response can have arrived.
        await remove(name).catch(() => undefined);
        throw error;
      }
    },
    async *read(name) {
      yield* (await call({ method: 'GET', key: keyOf(name) })) as AsyncIterable<Uint8Array>;
    },
  };
}

type SendCall = (options: Call) => Promise<IncomingMessage>;

/** The keys of all objects that begin with a prefix. @throws BackupError. */
async function listKeys(call: SendCall, prefix: string): Promise<readonly string[]> {
  const keys: string[] = [];
  let token: string | undefined;
  for (let page = 0; page < listPagesMax; page++) {
    const after = token === undefined ? {} : { 'continuation-token': token };
    const query = { 'list-type': '2', prefix, ...after };
    const text = await textOfResponse(await call({ method: 'GET', key: null, query }), listBytesMax);
    for (const [, key = ''] of text.matchAll(/<Key>([^<]{1,1024})<\/Key>/g)) keys.push(key);
    token = /<NextContinuationToken>([^<]{1,1024})</.exec(text)?.[1];
    if (token === undefined) return keys;
  }
  throw new BackupError('rejected', 'the bucket has too many objects');
}

/** Anyone who can write to the bucket can add objects, each of which costs a request. */
const candidatesMax = 100;

/**
 * Reads the newest backup of a recovery sheet in a bucket, by its name, in the folder of any installation.
 * @param sheet the id of the recovery sheet.
 * @param accepts whether the first bytes of an object are those of a backup that was made at a time (ms).
 * @returns undefined: there is none. @throws BackupError.
 */
export async function readNewestOf(
  bucket: S3Bucket,
  {
    sheet,
    signal,
    headBytes,
    accepts,
    ...parts
  }: Omit<Parts, 'folder'> & {
    readonly sheet: string;
    readonly signal: AbortSignal;
    readonly headBytes: number;
    readonly accepts: (key: string, head: Uint8Array, at: number) => Promise<boolean>;
  },
): Promise<AsyncIterable<Uint8Array> | undefined> {
  const { secret, clock, network } = parts;
  const call: SendCall = (options) =>
    callS3(bucket, { ...options, signal, secret, network, at: clock.now() });
  const found = (await listKeys(call, 'largesse-')).flatMap((key) => {
    const read = /^largesse-[0-9a-f]{8}\/(.+)$/.exec(key);
    const name = readBackupName(read?.[1] ?? '');
    return name?.sheet === sheet ? [{ key, at: name.at }] : [];
  });
  const newestFirst = found.toSorted((left, right) => right.at - left.at).slice(0, candidatesMax);
  for (const { key, at } of newestFirst) {
    const response = await call({ method: 'GET', key });
    const content = explainedParts(response);
    const head = await takeHead(content, headBytes);
    if (await accepts(key, head, at)) return continued(head, content);
    response.destroy();
  }
  return undefined;
}

/** The first bytes, at least as many as are asked for unless the source ends before. */
async function takeHead(parts: AsyncIterator<Uint8Array>, bytes: number): Promise<Uint8Array> {
  const taken: Uint8Array[] = [];
  for (let length = 0; length < bytes;) {
    const part = await parts.next();
    if (part.done === true) break;
    taken.push(part.value);
    length += part.value.length;
  }
  return Buffer.concat(taken);
}

async function* continued(head: Uint8Array, parts: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head;
  yield* parts;
}

/** @throws BackupError if the connection is lost. */
async function* explainedParts(response: IncomingMessage): AsyncGenerator<Uint8Array> {
  const parts = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  for (;;) {
    const part = await explained(async () => await parts.next());
    if (part.done === true) return;
    yield part.value;
  }
}

/** @throws BackupError unless the response is a success. */
async function callS3(
  { host, port, region, bucket, keyId }: S3Bucket,
  {
    method,
    key,
    query = {},
    body,
    signal,
    secret,
    network,
    at,
  }: Call & { readonly secret: Secret; readonly network: PublicNetwork; readonly at: number },
): Promise<IncomingMessage> {
  const path = `/${awsEncoded(bucket)}${key === null ? '' : `/${key.split('/').map(awsEncoded).join('/')}`}`;
  const bodyHash = body?.sha256 ?? emptyHash;
  const name = port === 443 ? host : `${host}:${port}`;
  const headers = signAwsRequest(
    { method, path, query, headers: { host: name }, bodyHash },
    { keyId, secret, region },
    at,
  );
  const search = awsQuery(query);
  const { rerouteForTests: reroute, resolve = systemResolve(), authority } = network;
  return await explained(async () => {
    const sent = request({
      method,
      host,
      servername: host,
      port: reroute ? reroute.port(port) : port,
      path: `${path}${search === '' ? '' : `?${search}`}`,
      headers: { ...headers, ...(body && { 'content-length': body.bytes }) },
      lookup: checkedLookup({ resolve, rerouteForTests: reroute?.address }),
      agent: false,
      timeout: silenceMs,
      ...(authority !== undefined && { ca: [...rootCertificates, authority] }),
      ...(signal && { signal }),
    });
    sent.on('timeout', () => sent.destroy(Object.assign(new Error('no response'), { code: 'ETIMEDOUT' })));
    const response = await new Promise<IncomingMessage>((settle, reject) => {
      sent.on('response', settle);
      sent.on('error', reject);
      // An early response ends the body: its status says why.
      if (body) pipeline(createReadStream(body.path), sent).catch(() => undefined);
      else sent.end();
    });
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    throw problemOf(status, await textOfResponse(response, errorBytesMax).catch(() => ''));
  });
}

/** The reason in the XML of an error. */
function problemOf(status: number, text: string): BackupError {
  const code = /<Code>([^<]{1,100})<\/Code>/.exec(text)?.[1] ?? '';
  const message = /<Message>([^<]{1,300})<\/Message>/.exec(text)?.[1] ?? '';
  const said = [String(status), code, message].filter((part) => part !== '').join(' ');
  if (code === 'NoSuchBucket') return new BackupError('noBucket', said);
  if (code === 'EntityTooLarge') return new BackupError('tooLarge', said);
  if (code === 'QuotaExceeded' || status === 507) return new BackupError('full', said);
  const isAccess = status === 401 || status === 403;
  return new BackupError(isAccess ? 'access' : 'rejected', said);
}

const troubles: Readonly<Record<string, BackupTrouble>> = {
  ETIMEDOUT: 'noResponse',
  ECONNREFUSED: 'noConnection',
  ECONNRESET: 'noConnection',
  EHOSTUNREACH: 'noConnection',
  ENETUNREACH: 'noConnection',
};

/** Runs a request or reads its response. @throws BackupError. */
async function explained<Result>(body: () => Promise<Result>): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    if (error instanceof BackupError || (error instanceof Error && error.name === 'AbortError')) throw error;
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof ForbiddenAddress) throw new BackupError('notPublic', message, { cause: error });
    if (error instanceof Unresolved) throw new BackupError('noSuchHost', message, { cause: error });
    throw new BackupError(troubles[codeOf(error)] ?? 'noConnection', message, { cause: error });
  }
}
