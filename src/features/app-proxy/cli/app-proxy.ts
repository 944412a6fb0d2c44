/**
 * `largesse app-proxy`: simulates the storefront's app proxy on one machine.
 *
 * Like the platform's proxy, it accepts requests under a fixed prefix of the store's URL, removes the prefix and the
 * cookies, adds and signs its parameters, and forwards the request.
 */

import { createHmac } from 'node:crypto';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { pipeline } from 'node:stream/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { readDatabaseConfig } from '../../../start/config.ts';
import { openDatabase } from '../../../start/database.ts';
import type { WallClock } from '../../../platform/clock.ts';
import { proxyParameters, signingText, type QueryParameter } from '../../../core/stores/domain/app-proxy.ts';
import type { Secret } from '../../../platform/secret.ts';
import { openProxySecret } from '../../../core/stores/storage/store.ts';
import { chooseStore, storeOption } from '../../../cli/choose-store.ts';
import { CommandError } from '../../../cli/failure.ts';
import { print } from '../../../cli/output.ts';

type Options = {
  readonly store?: string;
  readonly prefix: string;
  readonly listen: number;
  readonly to: URL;
  readonly customer?: number;
};

export type AppProxy = {
  /** The store's domain. */
  readonly shop: string;
  readonly secret: Secret;
  /** Such as `/apps/gift-cards`. */
  readonly prefix: string;
  /** The service's base URL. */
  readonly to: URL;
  /** The signed-in customer; null: none. */
  readonly customerId: number | null;
  readonly clock: Pick<WallClock, 'now'>;
};

/** Headers that the proxy does not forward: those of a single connection, and the storefront's cookies. */
const droppedHeaders: ReadonlySet<string> = new Set([
  'connection', 'keep-alive', 'proxy-authorization', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'host', 'cookie',
]); // prettier-ignore

export function addAppProxyCommand(root: Command): void {
  root
    .command('app-proxy')
    .description("simulate the storefront's app proxy: sign requests and forward them to the service")
    .addOption(storeOption('the store of the storefront'))
    .addOption(
      new Option('--prefix <path>', 'the fixed path prefix')
        .argParser(readPrefix)
        .default('/apps/gift-cards'),
    )
    .addOption(new Option('--listen <port>', 'the port on 127.0.0.1').argParser(readPort).default(4000))
    .addOption(
      new Option('--to <url>', "the service's base URL")
        .argParser(readUrl)
        .default(new URL('http://127.0.0.1:3000'), 'http://127.0.0.1:3000'),
    )
    .addOption(new Option('--customer <id>', 'the id of a signed-in customer').argParser(readCustomer))
    .action(async ({ store: domain, prefix, listen, to, customer }: Options) => {
      const { shop, secret, clock } = await findProxiedStore(domain);
      const server = createAppProxy({ shop, secret, prefix, to, customerId: customer ?? null, clock });
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(listen, '127.0.0.1', resolve);
      });
      const address = server.address();
      const port = typeof address === 'object' && address ? address.port : listen;
      print(
        `http://127.0.0.1:${port}${prefix} simulates the app proxy of ${shop} and forwards requests to ${to.href}`,
      );
      await new Promise<void>((resolve) => {
        process.on('SIGTERM', () => resolve());
        process.on('SIGINT', () => resolve());
      });
      server.closeAllConnections();
      server.close();
    });
}

async function findProxiedStore(
  domain: string | undefined,
): Promise<Pick<AppProxy, 'shop' | 'secret' | 'clock'>> {
  await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
  const { ctx, storage } = database;
  const record = await storage.read(() => chooseStore(domain));
  const secret = openProxySecret(ctx, record);
  const shop = record.store.domain;
  if (!secret)
    throw new CommandError(
      `${shop} has no proxy secret: largesse store update ${shop} --proxy-secret <secret>`,
    );
  return { shop, secret, clock: ctx.wallClock };
}

/** Creates the app proxy. The caller starts it with `listen`. */
export function createAppProxy(proxy: AppProxy): Server {
  return createServer((request, response) => {
    forward(proxy, request, response).catch(() => {
      if (!response.headersSent) response.writeHead(502, { 'content-type': 'text/plain' });
      response.end('The service cannot be reached.\n');
    });
  });
}

async function forward(proxy: AppProxy, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!/^\/(?!\/)/.test(request.url ?? '')) {
    response.writeHead(400, { 'content-type': 'text/plain' }).end('The request target must be a path.\n');
    return;
  }
  const target = new URL(request.url ?? '/', 'http://storefront.invalid');
  if (target.pathname !== proxy.prefix && !target.pathname.startsWith(`${proxy.prefix}/`)) {
    response
      .writeHead(404, { 'content-type': 'text/plain' })
      .end(`The path must start with ${proxy.prefix}.\n`);
    return;
  }
  const path = proxy.to.pathname.replace(/\/$/, '') + target.pathname.slice(proxy.prefix.length);
  const query = signedQuery(proxy, [...target.searchParams]);
  const headers = Object.entries(request.headers).filter(([name]) => !droppedHeaders.has(name));
  const serviceRequest = httpRequest({
    protocol: proxy.to.protocol,
    hostname: proxy.to.hostname,
    port: proxy.to.port,
    method: request.method,
    path: `${path}?${query}`,
    headers: { ...Object.fromEntries(headers), 'x-forwarded-host': proxy.shop },
  });
  const serviceResponse = new Promise<IncomingMessage>((resolve, reject) => {
    serviceRequest.once('response', resolve);
    serviceRequest.once('error', reject);
  });
  // The service can respond before it has received the whole body, which is not an error of the proxy.
  pipeline(request, serviceRequest).catch(() => undefined);
  const reply = await serviceResponse;
  const forwarded = Object.entries(reply.headers).filter(([name]) => !droppedHeaders.has(name));
  response.writeHead(reply.statusCode ?? 502, Object.fromEntries(forwarded));
  await pipeline(reply, response);
}

/** The query with the signature and the proxy's parameters, which replace the client's. */
function signedQuery(proxy: Omit<AppProxy, 'to'>, query: readonly QueryParameter[]): string {
  const own = new Set<string>(proxyParameters);
  const parameters: QueryParameter[] = [
    ...query.filter(([name]) => !own.has(name)),
    ['shop', proxy.shop],
    ['logged_in_customer_id', proxy.customerId === null ? '' : String(proxy.customerId)],
    ['path_prefix', proxy.prefix],
    ['timestamp', String(Math.floor(proxy.clock.now() / 1_000))],
  ];
  const signature = createHmac('sha256', proxy.secret.reveal()).update(signingText(parameters)).digest('hex');
  return new URLSearchParams([
    ...parameters.map(([name, value]) => [name, value]),
    ['signature', signature],
  ]).toString();
}

function readPrefix(text: string): string {
  if (!/^(?:\/[A-Za-z0-9_-]+)+$/.test(text))
    throw new InvalidArgumentError('It must be a path such as /apps/gift-cards.');
  return text;
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new InvalidArgumentError('It must be a port from 0 to 65535.');
  return port;
}

function readUrl(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:')
    throw new InvalidArgumentError('It must be an http URL such as http://127.0.0.1:3000.');
  if (url.username !== '' || url.password !== '')
    throw new InvalidArgumentError('It must not contain a user name or password.');
  return url;
}

function readCustomer(text: string): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id))
    throw new InvalidArgumentError("It must be a customer's id, an integer from 1 to 2^53 - 1.");
  return id;
}
