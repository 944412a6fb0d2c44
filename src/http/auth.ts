/**
 * Authenticates requests: access tokens, app-proxy signatures, and development mode.
 *
 * A signature proves that a request came through the app proxy, not who sent it. With a token, it must be the signature
 * of the token's store. Without one, it allows only the search of a signed-in customer.
 */

import { createHmac } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../platform/loopback.ts';
import type { Context } from '../core/storage/context.ts';
import {
  isWellFormed,
  proxyParameters,
  signatureAgeMaxSeconds,
  signingText,
  type QueryParameter,
} from '../core/stores/domain/app-proxy.ts';
import { Fault } from '../core/domain/fault.ts';
import type { Secret } from '../platform/secret.ts';
import { parseDomain, scopes as allScopes, type Scope, type Store } from '../core/stores/domain/store.ts';
import { sameBytes } from '../platform/keys.ts';
import {
  findOpenDemonstrationStore,
  findPresentedToken,
  findSignedStore,
  type SignedStore,
} from '../core/stores/service/caller.ts';
import { tokenDigest, type PresentedToken } from '../core/stores/service/secret-token.ts';
import { accessTokensOf, isForeignToken } from '../core/stores/service/token.ts';
import type { Script } from '../database/sql/sql.ts';
import type { ReadCache, Storage } from '../database/storage.ts';
import { assertStoreOpen } from '../core/stores/storage/store.ts';
import type { FoundToken } from '../core/stores/storage/token.ts';
import { looksForwarded } from './forwarded.ts';

export type Caller = {
  readonly store: Store;
  readonly scopes: readonly Scope[];
  /** Null for requests without an API client. */
  readonly apiClientId: number | null;
  readonly tokenId: number | null;
  /** The location that the caller belongs to; null: none. */
  readonly locationId: number | null;
  /** The actor that the ledger records. */
  readonly actor: string;
  /** The storefront's id of the signed-in customer, who can see only their own cards; null: every card. */
  readonly onlyStorefrontCustomerId: number | null;
};

export type Authentication = {
  readonly ctx: Context;
  readonly storage: Storage;
  /** Valid tokens by their hashes. */
  readonly tokens: ReadCache<FoundToken>;
  /** The stores of signed requests, by their domains. */
  readonly signedStores: ReadCache<SignedStore>;
  /** Whether development mode can accept requests without a credential. */
  readonly developmentMode: boolean;
};

type Credentials = {
  readonly query: readonly QueryParameter[];
  /** Whether a signed-in customer can make this request if the store allows it. */
  readonly customerMaySearch: boolean;
};

/**
 * Authenticates a request, without waiting if its only credential is a cached token.
 * @throws Fault `unauthenticated`, `invalid-signature` or `cross-site-request`, or rejects with one of them.
 */
export function authenticate(
  authentication: Authentication,
  request: FastifyRequest,
  credentials: Credentials,
): Caller | Promise<Caller> {
  const token = presentedToken(authentication.ctx, request);
  const proxied = proxiedBy(credentials.query);
  if (proxied)
    return authenticateProxied(authentication, { token, proxied, kind: actorKindOf(request) }, credentials);
  if (token) {
    const found = findToken(authentication.tokens, token);
    const { ctx } = authentication;
    const kind = actorKindOf(request);
    return found instanceof Promise
      ? found.then((read) => tokenCaller(ctx, read, kind))
      : tokenCaller(ctx, found, kind);
  }
  if (!authentication.developmentMode) throw new Fault('unauthenticated');
  return enterDevelopment(authentication.storage, request);
}

async function authenticateProxied(
  { ctx, tokens, signedStores }: Authentication,
  {
    token,
    proxied,
    kind,
  }: { readonly token: PresentedToken | null; readonly proxied: Proxied; readonly kind: ActorKind },
  { query, customerMaySearch }: Credentials,
): Promise<Caller> {
  const [found, shop] = await Promise.all([
    token ? findToken(tokens, token) : undefined,
    findCached(signedStores, proxied.shop, () => findSignedStore(ctx, proxied.shop)),
  ]);
  verifySignature(ctx, proxied, { query, secret: shop?.proxySecret });
  return token ? tokenCaller(ctx, found, kind, shop) : customerCaller(shop, proxied, customerMaySearch);
}

/**
 * Returns the token if it is valid. Invalid tokens are looked up every time, so the response time does not reveal
 * whether a token exists.
 */
function findToken(
  tokens: ReadCache<FoundToken>,
  token: PresentedToken,
): FoundToken | Promise<FoundToken | undefined> {
  return findCached(tokens, tokenDigest(token), () => findPresentedToken(token));
}

function findCached<T>(
  cache: ReadCache<T>,
  key: string,
  script: () => Script<T | undefined>,
): T | Promise<T | undefined> {
  return cache.find(key) ?? cache.read(key, script);
}

/**
 * The token in any of the three header forms; null if there is none.
 * @throws Fault `unauthenticated` if it is malformed or the headers have different tokens.
 */
function presentedToken(ctx: Pick<Context, 'testClock'>, { headers }: FastifyRequest): PresentedToken | null {
  const bearer = headers.authorization === undefined ? undefined : bearerOf(headers.authorization);
  const bare = trim(headers['x-access-token']);
  const prefixed = trim(headers['x-gcf-access-token']);
  const text = bearer ?? bare ?? prefixed;
  if (text === undefined) return null;
  const isOne = (bare ?? text) === text && (prefixed ?? text) === text;
  const token = isOne ? accessTokensOf(ctx).parse(text) : undefined;
  if (token) return token;
  if (!isOne || !isForeignToken(ctx, text)) throw new Fault('unauthenticated');
  const detail = ctx.testClock
    ? 'This is a sandbox, and the access token is one of a live service.'
    : 'The access token is one of a sandbox, and this is a live service.';
  throw new Fault('unauthenticated', { detail });
}

function bearerOf(authorization: string): string {
  const [, bearer] = /^bearer +(\S+) *$/i.exec(authorization) ?? [];
  if (bearer === undefined) throw new Fault('unauthenticated');
  return bearer;
}

function trim(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value.trim() : undefined;
}

/** `mcp`: the request says that an agent made it with the token. */
type ActorKind = 'api_client' | 'mcp';

function actorKindOf({ headers }: FastifyRequest): ActorKind {
  return headers['largesse-agent'] === 'mcp' ? 'mcp' : 'api_client';
}

/** @param signedBy the store whose signature the request has; undefined: none. */
function tokenCaller(
  { wallClock }: Pick<Context, 'wallClock'>,
  found: FoundToken | undefined,
  kind: ActorKind,
  signedBy?: SignedStore,
): Caller {
  if (!found) throw new Fault('unauthenticated');
  const { token, record } = found;
  assertStoreOpen(record);
  if (token.expiresAt !== null && token.expiresAt <= wallClock.earliest())
    throw new Fault('unauthenticated', { detail: 'The access token has expired.' });
  if (signedBy && signedBy.store.id !== record.store.id) throw new Fault('invalid-signature');
  if (record.store.requireSignature && !signedBy) throw new Fault('invalid-signature');
  return {
    store: record.store,
    scopes: token.scopes,
    apiClientId: token.apiClientId,
    tokenId: token.id,
    locationId: token.locationId,
    actor: `${kind}:${token.apiClientId}`,
    onlyStorefrontCustomerId: null,
  };
}

function customerCaller(
  shop: SignedStore | undefined,
  { customerId }: Proxied,
  customerMaySearch: boolean,
): Caller {
  if (!shop || !customerMaySearch || !shop.store.customerSearch || customerId === null) {
    throw new Fault('unauthenticated');
  }
  return {
    store: shop.store,
    scopes: ['read_gift_cards'],
    apiClientId: null,
    tokenId: null,
    locationId: null,
    actor: `customer:${customerId}`,
    onlyStorefrontCustomerId: customerId,
  };
}

/** The parameters of a signed request before its signature is verified. */
type Proxied = {
  readonly shop: string;
  readonly timestamp: number;
  readonly signature: Uint8Array;
  readonly customerId: number | null;
};

/** Null if the request has no signature. @throws Fault `invalid-signature` if a parameter is missing or malformed. */
function proxiedBy(query: readonly QueryParameter[]): Proxied | null {
  const parameters = new Map(query);
  const signature = parameters.get('signature');
  if (signature === undefined) return null;
  const shop = parseDomain(parameters.get('shop') ?? '');
  const timestamp = parameters.get('timestamp');
  const allWellFormed = proxyParameters.every((name) =>
    isWellFormed(name, parameters.get(name) ?? wellFormedAbsence[name]),
  );
  if (!shop.ok || timestamp === undefined || !allWellFormed) throw new Fault('invalid-signature');
  const customer = parameters.get('logged_in_customer_id');
  return {
    shop: shop.value,
    timestamp: Number(timestamp),
    signature: Buffer.from(signature, 'hex'),
    customerId: customer ? Number(customer) : null,
  };
}

/** The values of absent parameters. Shop, timestamp and signature are required, so their empty values are invalid. */
const wellFormedAbsence: Readonly<Record<(typeof proxyParameters)[number], string>> = {
  shop: '',
  logged_in_customer_id: '',
  path_prefix: '/',
  timestamp: '',
  signature: '',
};

function verifySignature(
  ctx: Context,
  proxied: Proxied,
  {
    query,
    secret,
  }: { readonly query: readonly QueryParameter[]; readonly secret: Secret | null | undefined },
): void {
  if (!secret) throw new Fault('invalid-signature');
  const expected = createHmac('sha256', secret.reveal()).update(signingText(query)).digest();
  if (!sameBytes(expected, proxied.signature)) throw new Fault('invalid-signature');
  const ageSeconds = Math.abs(Math.floor(ctx.wallClock.now() / 1_000) - proxied.timestamp);
  if (ageSeconds > signatureAgeMaxSeconds) throw new Fault('invalid-signature');
}

/**
 * Accepts only requests that a program on this machine sent directly. It rejects requests from pages of other sites,
 * requests to a host name that was rebound to this address, and requests that a proxy forwarded.
 * @throws Fault `cross-site-request`.
 */
export function requireLocalRequest({ raw, headers }: Pick<FastifyRequest, 'raw' | 'headers'>): void {
  const host = headers.host ?? '';
  if (!isLoopback(hostName(host)) || looksForwarded(raw)) throw new Fault('cross-site-request');
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new Fault('cross-site-request');
  if (headers.origin !== undefined && headers.origin !== `http://${host}`)
    throw new Fault('cross-site-request');
}

/** Whether a program on this machine sent the request directly, or a page of this service did. */
export function isLocalRequest({ raw, headers }: Pick<FastifyRequest, 'raw' | 'headers'>): boolean {
  const { origin, 'sec-fetch-site': site } = headers;
  // Forms of pages without referrers send the origin `null` (Fetch, 3.2).
  const isOwnForm = site === 'same-origin' && origin === 'null';
  try {
    requireLocalRequest({ raw, headers: isOwnForm ? { ...headers, origin: undefined } : headers });
    return true;
  } catch {
    return false;
  }
}

/**
 * In development mode, accepts a local request without a credential until the database has a real store.
 * @throws Fault `cross-site-request`, `unauthenticated`.
 */
async function enterDevelopment(storage: Storage, request: FastifyRequest): Promise<Caller> {
  requireLocalRequest(request);
  const store = await storage.read(findOpenDemonstrationStore);
  if (!store) throw new Fault('unauthenticated');
  return {
    store,
    scopes: allScopes,
    apiClientId: null,
    tokenId: null,
    locationId: null,
    actor: 'development',
    onlyStorefrontCustomerId: null,
  };
}

/** The host of a Host header, without the port. */
export function hostName(host: string): string {
  return host.replace(/:\d{1,5}$/, '');
}
