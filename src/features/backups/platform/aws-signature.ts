/** Signs requests to S3 with AWS Signature Version 4 (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html). */

import { createHash, createHmac } from 'node:crypto';
import type { Secret } from '../../../platform/secret.ts';

export type AwsRequest = {
  readonly method: string;
  /** The path with percent-encoded names. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** All headers that are signed, with `host`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The SHA-256 of the body in hex. */
  readonly bodyHash: string;
};

export type AwsCredentials = { readonly keyId: string; readonly secret: Secret; readonly region: string };

/** The SHA-256 of no bytes. */
export const emptyHash = createHash('sha256').digest('hex');

/** Encodes a name as the signature does: only letters, digits, `-`, `.`, `_` and `~` stay. */
export function awsEncoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The query of a request in its canonical order. */
export function awsQuery(query: AwsRequest['query']): string {
  return Object.entries(query)
    .map(([name, value]) => `${awsEncoded(name)}=${awsEncoded(value)}`)
    .toSorted()
    .join('&');
}

function hmac(key: Uint8Array | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** The headers of a signed request, with those that were given. @param at ms since 1970 UTC. */
export function signAwsRequest(
  { method, path, query, headers, bodyHash }: AwsRequest,
  { keyId, secret, region }: AwsCredentials,
  at: number,
): Readonly<Record<string, string>> {
  const time = Temporal.Instant.fromEpochMilliseconds(at)
    .toString({ smallestUnit: 'second' })
    .replaceAll(/[-:]/g, '');
  const day = time.slice(0, 8);
  const signed = { ...headers, 'x-amz-content-sha256': bodyHash, 'x-amz-date': time };
  const lines = Object.entries(signed)
    .map(([name, value]) => [name.toLowerCase(), value.trim().replaceAll(/ +/g, ' ')] as const)
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
  const names = lines.map(([name]) => name).join(';');
  const canonical = [
    method,
    path,
    awsQuery(query),
    ...lines.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    bodyHash,
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const digest = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', time, scope, digest].join('\n');
  const key = [region, 's3', 'aws4_request'].reduce(hmac, hmac(`AWS4${secret.reveal()}`, day));
  const signature = hmac(key, text).toString('hex');
  return {
    ...signed,
    authorization: `AWS4-HMAC-SHA256 Credential=${keyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}
