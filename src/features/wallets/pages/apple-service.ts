/**
 * The web service of passes in Apple Wallet, with which devices register and request the current pass
 * (https://developer.apple.com/documentation/walletpasses/adding-a-web-service-to-update-passes).
 */

import { walletTool, type WalletTools } from './tools.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseDomain, type Store } from '../../../core/stores/domain/store.ts';
import type { RawBody } from '../../../http/body.ts';
import { Secret } from '../../../platform/secret.ts';
import {
  findPass,
  findPassStore,
  listChanged,
  registerDevice,
  unregisterDevice,
  type PassRequest,
} from '../service/apple.ts';
import { readId } from '../../../pages/kit/ids.ts';
import { assertHost } from '../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';

/** The type of a `.pkpass` file. */
export const passType = 'application/vnd.apple.pkpass';

type Parts = {
  readonly services: ConsoleServices;
  readonly tools: WalletTools;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly store: Store;
  readonly params: Readonly<Record<string, string>>;
};

export function addAppleService(app: FastifyInstance, services: ConsoleServices): void {
  const tools = services.tools.of(walletTool);
  const { origin, ctx, storage, limitVisitor } = services;
  if (!tools) return;
  const base = `${origin.basePath}/b/:domain/wallet/apple/v1`;
  const limited = async (request: FastifyRequest): Promise<void> => {
    assertHost(request.headers, origin);
    limitVisitor(request.clientAddress, ctx.clock.monotonic());
  };
  const add = (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    respond: (parts: Parts) => Promise<FastifyReply>,
  ): void => {
    app.route({
      method,
      url: `${base}${path}`,
      onRequest: limited,
      handler: async (request, reply) => {
        reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
        const params = request.params as Readonly<Record<string, string>>;
        const domain = parseDomain(params['domain'] ?? '');
        const store = domain.ok
          ? await storage.read(() => findPassStore(domain.value, params['type'] ?? ''))
          : undefined;
        // The same response for a token that is wrong.
        if (!store) return await reply.code(401).send();
        return await respond({ services, tools, request, reply, store, params });
      },
    });
  };
  add('POST', '/devices/:device/registrations/:type/:serial', register);
  add('DELETE', '/devices/:device/registrations/:type/:serial', unregister);
  add('GET', '/devices/:device/registrations/:type', listUpdated);
  add('GET', '/passes/:type/:serial', sendPass);
  // Devices report their errors there. They are not kept: anyone can send them.
  app.post(`${base}/log`, { onRequest: limited }, async (_request, reply) => await reply.code(200).send());
}

/** The card of a request and the token of its pass; undefined: the request has none. */
function passOf({ services, request, store, params }: Parts): PassRequest | undefined {
  const [, token] = /^ApplePass ([\w-]{16,300})$/.exec(request.headers.authorization ?? '') ?? [];
  const cardId = readId(services, params['serial']);
  return token === undefined || cardId === undefined
    ? undefined
    : { storeId: store.id, cardId, token: new Secret(token) };
}

const statuses = { unauthorized: 401, invalid: 400, registered: 201, known: 200 } as const;

async function register(parts: Parts): Promise<FastifyReply> {
  const { services, request, reply, params } = parts;
  const pass = passOf(parts);
  if (!pass) return await reply.code(401).send();
  const device = { device: params['device'] ?? '', pushToken: pushTokenIn(request) };
  const result = await services.storage.write(() => registerDevice(services.ctx, pass, device));
  return await reply.code(statuses[result]).send();
}

function pushTokenIn({ body }: FastifyRequest): unknown {
  const { bytes } = (body ?? {}) as Partial<RawBody>;
  try {
    const parsed: unknown = JSON.parse(Buffer.from(bytes ?? []).toString());
    return typeof parsed === 'object' && parsed !== null && 'pushToken' in parsed
      ? parsed.pushToken
      : undefined;
  } catch {
    return undefined;
  }
}

async function unregister(parts: Parts): Promise<FastifyReply> {
  const { services, reply, params } = parts;
  const pass = passOf(parts);
  const device = params['device'] ?? '';
  const isDone =
    pass !== undefined && (await services.storage.write(() => unregisterDevice(services.ctx, pass, device)));
  return await reply.code(isDone ? 200 : 401).send();
}

async function listUpdated({ services, request, reply, store, params }: Parts): Promise<FastifyReply> {
  const since = new URL(request.url, 'http://localhost').searchParams.get('passesUpdatedSince') ?? '';
  const known = /^\d{1,15}$/.test(since) ? Number(since) : 0;
  const device = params['device'] ?? '';
  const changed = await services.storage.read(() => listChanged(store.id, { device, since: known }));
  const last = changed.at(-1);
  if (!last) return await reply.code(204).send();
  const serialNumbers = changed.map(({ cardId }) => String(services.ctx.keys.publicIds.of(cardId)));
  const lastUpdated = String(Math.max(known, last.changedAt));
  return await reply.type('application/json').send(JSON.stringify({ serialNumbers, lastUpdated }));
}

const secondMs = 1_000;

async function sendPass(parts: Parts): Promise<FastifyReply> {
  const { services, tools, request, reply, store } = parts;
  const { ctx, storage } = services;
  const pass = passOf(parts);
  const found = pass && (await storage.read(() => findPass(ctx, pass)));
  if (!pass || !found) return await reply.code(401).send();
  const { card, code, changedAt } = found;
  const known = Date.parse(request.headers['if-modified-since'] ?? '');
  if (changedAt !== null && known >= Math.floor(changedAt / secondMs) * secondMs)
    return await reply.code(304).send();
  const content = await tools.applePass(store, { card, code, token: pass.token });
  if (!content) return await reply.code(401).send();
  const modified = modifiedAt(changedAt, ctx.clock.earliest());
  if (modified !== null) reply.header('last-modified', new Date(modified).toUTCString());
  return await reply.type(passType).send(Buffer.from(content));
}

/**
 * The header has whole seconds. While a further change can happen in the second of the last one, the time before it is sent,
 * so that the next request gets the pass again.
 */
function modifiedAt(changedAt: number | null, now: number): number | null {
  if (changedAt === null) return null;
  return now < changedAt + 2 * secondMs ? changedAt - 2 * secondMs : changedAt;
}
