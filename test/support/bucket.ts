/** A storage with the interface of S3 on this machine, which keeps objects in memory. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { PublicNetwork } from '../../src/delivery/public-socket.ts';
import { certificateFor } from '../delivery/email/certificate.ts';

export type Bucket = AsyncDisposable & {
  readonly objects: Map<string, Buffer>;
  /** The requests so far: `PUT /bucket/key`. */
  readonly requests: string[];
  /** Changes responses; null: works. */
  fault: 'damages' | 'silent' | 'forbidden' | 'missing' | 'closes' | null;
  readonly network: PublicNetwork;
};

export const bucketHost = 's3.storage.example';
const publicAddress = '93.184.215.14';

/** Starts it. Its bucket is `shop-backups`. */
export async function openBucket(): Promise<Bucket> {
  const objects = new Map<string, Buffer>();
  const requests: string[] = [];
  const { certificate, key } = certificateFor(bucketHost);
  const bucket: Bucket = {
    objects,
    requests,
    fault: null,
    network: {
      authority: certificate,
      async resolve(name) {
        if (name === bucketHost) return [publicAddress];
        if (name === 'inside.storage.example') return ['10.0.0.7'];
        throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
      },
      rerouteForTests: { address: () => '127.0.0.1', port: () => port },
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const error = (code: string): string =>
    `<?xml version="1.0"?><Error><Code>${code}</Code><Message>The test says ${code}</Message></Error>`;
  const listener: RequestListener = (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const url = new URL(request.url ?? '', 'https://localhost');
      const name = decodeURIComponent(url.pathname.replace('/shop-backups/', ''));
      requests.push(`${request.method} ${url.pathname}`);
      const body = Buffer.concat(parts);
      const { fault } = bucket;
      if (fault === 'silent') return;
      if (fault === 'closes') return void request.socket.destroy();
      const isSigned =
        /^AWS4-HMAC-SHA256 Credential=AKIDTEST\/\d{8}\/eu-test-1\/s3\/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=[0-9a-f]{64}$/.test(
          request.headers.authorization ?? '',
        );
      const isHashed =
        createHash('sha256').update(body).digest('hex') === request.headers['x-amz-content-sha256'];
      if (fault === 'forbidden' || !isSigned || !isHashed)
        return void response.writeHead(403).end(error('SignatureDoesNotMatch'));
      if (fault === 'missing' || !url.pathname.startsWith('/shop-backups'))
        return void response.writeHead(404).end(error('NoSuchBucket'));
      if (request.method === 'PUT') objects.set(name, body);
      if (request.method === 'DELETE') objects.delete(name);
      if (request.method !== 'GET')
        return void response.writeHead(request.method === 'PUT' ? 200 : 204).end();
      if (url.searchParams.get('list-type') === '2') {
        const names = [...objects.keys()].filter((each) =>
          each.startsWith(url.searchParams.get('prefix') ?? ''),
        );
        const listed = names.map((each) => `<Contents><Key>${each}</Key><Size>1</Size></Contents>`).join('');
        return void response.end(`<ListBucketResult>${listed}</ListBucketResult>`);
      }
      const object = objects.get(name);
      if (!object) return void response.writeHead(404).end(error('NoSuchKey'));
      const sent = Buffer.from(object);
      if (fault === 'damages') sent[sent.length - 1] = (sent.at(-1) ?? 0) ^ 1;
      return void response.end(sent);
    });
  };
  const server = createServer({ key, cert: certificate }, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return bucket;
}
