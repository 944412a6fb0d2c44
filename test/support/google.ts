/**
 * Google's token endpoint and the API of Google Wallet, with the state of an issuer. They are built from the published schema
 * (walletobjects:v1, revision 20260408) and reject what it does not have.
 */

import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Issued } from './wallet-certificates.ts';

const tokenHost = 'oauth2.googleapis.com';
const apiHost = 'walletobjects.googleapis.com';
export const googleHosts = [tokenHost, apiHost] as const;

const scope = 'https://www.googleapis.com/auth/wallet_object.issuer';

type Json = Record<string, unknown>;

/** A name of `messages`, `[name]` for a list of it, `enum: a b`, or one of `string`, `int64`, `boolean`. */
type Field = string;

const localizedString = {
  defaultValue: 'TranslatedString',
  translatedValues: '[TranslatedString]',
  kind: 'string',
};

const states = 'STATE_UNSPECIFIED ACTIVE COMPLETED EXPIRED INACTIVE active completed expired inactive';

/** The fields of each message. Those that no issuer of gift cards sets are left out. */
const messages: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
  GiftCardObject: {
    kind: 'string',
    id: 'string',
    classId: 'string',
    version: 'int64',
    state: `enum: ${states}`,
    cardNumber: 'string',
    pin: 'string',
    balance: 'Money',
    balanceUpdateTime: 'DateTime',
    eventNumber: 'string',
    barcode: 'Barcode',
    validTimeInterval: 'TimeInterval',
    hasUsers: 'boolean',
    disableExpirationNotification: 'boolean',
    linksModuleData: 'LinksModuleData',
    heroImage: 'Image',
    notifyPreference: 'enum: NOTIFICATION_SETTINGS_FOR_UPDATES_UNSPECIFIED NOTIFY_ON_UPDATE',
    linkedObjectIds: '[string]',
  },
  GiftCardClass: {
    kind: 'string',
    id: 'string',
    version: 'int64',
    issuerName: 'string',
    localizedIssuerName: 'LocalizedString',
    merchantName: 'string',
    localizedMerchantName: 'LocalizedString',
    programLogo: 'Image',
    heroImage: 'Image',
    pinLabel: 'string',
    cardNumberLabel: 'string',
    localizedCardNumberLabel: 'LocalizedString',
    allowBarcodeRedemption: 'boolean',
    hexBackgroundColor: 'string',
    homepageUri: 'Uri',
    countryCode: 'string',
    linksModuleData: 'LinksModuleData',
    multipleDevicesAndHoldersAllowedStatus:
      'enum: STATUS_UNSPECIFIED MULTIPLE_HOLDERS ONE_USER_ALL_DEVICES ONE_USER_ONE_DEVICE',
    reviewStatus: 'enum: REVIEW_STATUS_UNSPECIFIED UNDER_REVIEW APPROVED REJECTED DRAFT',
  },
  Money: { kind: 'string', micros: 'int64', currencyCode: 'string' },
  DateTime: { date: 'string' },
  TimeInterval: { kind: 'string', start: 'DateTime', end: 'DateTime' },
  Barcode: {
    kind: 'string',
    type: 'enum: AZTEC CODE_39 CODE_128 CODABAR DATA_MATRIX EAN_8 EAN_13 ITF_14 PDF_417 QR_CODE UPC_A TEXT_ONLY',
    value: 'string',
    alternateText: 'string',
    renderEncoding: 'enum: RENDER_ENCODING_UNSPECIFIED UTF_8',
    showCodeText: 'LocalizedString',
  },
  LocalizedString: localizedString,
  TranslatedString: { kind: 'string', language: 'string', value: 'string' },
  Image: {
    kind: 'string',
    sourceUri: 'ImageUri',
    contentDescription: 'LocalizedString',
    privateImageId: 'string',
  },
  ImageUri: { uri: 'string', description: 'string', localizedDescription: 'LocalizedString' },
  LinksModuleData: { uris: '[Uri]' },
  Uri: {
    kind: 'string',
    id: 'string',
    uri: 'string',
    description: 'string',
    localizedDescription: 'LocalizedString',
  },
};

const required = {
  GiftCardObject: ['id', 'classId', 'state', 'cardNumber'],
  GiftCardClass: ['id', 'issuerName', 'reviewStatus'],
} as const;

type Resource = keyof typeof required;

class Rejected extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

function invalid(message: string): Rejected {
  return new Rejected(400, 'INVALID_ARGUMENT', message);
}

/** Checks a value as the parser of the API does. Null is an absent field. */
function check(field: Field, value: unknown, at: string): void {
  if (value === null) return;
  if (field.startsWith('[')) {
    if (!Array.isArray(value)) throw invalid(`Invalid value at '${at}', a list is expected`);
    for (const each of value as readonly unknown[]) check(field.slice(1, -1), each, at);
    return;
  }
  const message = messages[field];
  if (message) {
    if (typeof value !== 'object' || Array.isArray(value)) throw invalid(`Invalid value at '${at}'`);
    for (const [name, part] of Object.entries(value as Json)) {
      const known = message[name];
      if (known === undefined)
        throw invalid(`Invalid JSON payload received. Unknown name "${name}" at '${at}': Cannot find field.`);
      check(known, part, `${at}.${name}`);
    }
    return;
  }
  const isValid =
    field === 'boolean'
      ? typeof value === 'boolean'
      : typeof value === 'string' &&
        (!field.startsWith('enum: ') || field.slice(6).split(' ').includes(value)) &&
        (field !== 'int64' ||
          (/^-?\d{1,19}$/.test(value) && BigInt.asIntN(64, BigInt(value)) === BigInt(value)));
  if (!isValid) throw invalid(`Invalid value at '${at}' (${field}), ${JSON.stringify(value)}`);
}

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

/** The rules that are in the descriptions of the fields. */
function checkRules(resource: Resource, stored: Json): void {
  for (const name of required[resource])
    if (typeof stored[name] !== 'string' || stored[name] === '') throw invalid(`Missing ${name}`);
  if (resource === 'GiftCardClass') {
    if (stored['reviewStatus'] !== 'UNDER_REVIEW' && stored['reviewStatus'] !== 'DRAFT')
      throw invalid('Review status must be set to underReview or draft');
    const { hexBackgroundColor: color = '#000000' } = stored;
    if (typeof color !== 'string' || !/^#[0-9a-f]{6}$/i.test(color)) throw invalid('Invalid color');
    for (const image of [stored['programLogo'], stored['heroImage']]) {
      const uri = (image as { sourceUri?: { uri?: string } } | undefined)?.sourceUri?.uri;
      if (image !== undefined && !uri?.startsWith('https://')) throw invalid('Invalid image');
    }
    return;
  }
  const { balance, balanceUpdateTime, validTimeInterval, barcode } = stored as {
    readonly balance?: Json;
    readonly balanceUpdateTime?: Json;
    readonly validTimeInterval?: { readonly end?: Json };
    readonly barcode?: Json;
  };
  if (balance && !/^[A-Z]{3}$/.test(String(balance['currencyCode']))) throw invalid('Invalid currency');
  if (balanceUpdateTime && !instant.test(String(balanceUpdateTime['date'])))
    throw invalid('Offset is required');
  if (validTimeInterval?.end && !instant.test(String(validTimeInterval.end['date'])))
    throw invalid('Invalid end');
  if (barcode && (typeof barcode['type'] !== 'string' || typeof barcode['value'] !== 'string'))
    throw invalid(`Invalid barcode ${JSON.stringify(barcode['value'])}`);
}

export type ServiceAccount = { readonly email: string; readonly file: string; readonly publicKey: KeyObject };

/** A service account with a new key, in the file that Google Cloud makes. */
export function serviceAccount(name = 'wallet', bits = 2_048): ServiceAccount {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  const email = `${name}@flowers-shop.iam.gserviceaccount.com`;
  const file = {
    type: 'service_account',
    project_id: 'flowers-shop',
    private_key_id: '0123456789abcdef',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: email,
    client_id: '123456789012345678901',
    auth_uri: 'https://accounts.google.com/o/oauth2/auth',
    // The service must not use it.
    token_uri: 'https://attacker.example/token',
    universe_domain: 'googleapis.com',
  };
  return { email, file: JSON.stringify(file), publicKey };
}

type Claims = Json & { readonly payload?: { readonly giftCardObjects?: readonly Json[] } };

/** The claims of a token that the account has signed. @throws AssertionError. */
function verifiedClaims(token: string, { publicKey }: ServiceAccount): Claims {
  const parts = token.split('.');
  assert.equal(parts.length, 3);
  const [header = '', claims = '', signature = ''] = parts;
  assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), { alg: 'RS256', typ: 'JWT' });
  const key = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }));
  const signed = Buffer.from(`${header}.${claims}`);
  assert.ok(
    verify('RSA-SHA256', signed, key, Buffer.from(signature, 'base64url')),
    'the signature is not valid',
  );
  return JSON.parse(Buffer.from(claims, 'base64url').toString()) as Claims;
}

type GoogleRequest = { readonly method: string; readonly path: string; readonly body: Json };

/** A response in the place of the usual one; `lost`: the connection ends without one. */
type GoogleReply =
  { readonly status: number; readonly message?: string; readonly retryAfter?: string } | 'lost' | undefined;

export type GoogleService = AsyncDisposable & {
  readonly port: number;
  /** The requests to the API that had a valid token. */
  readonly requests: GoogleRequest[];
  /** The access tokens that were issued. */
  readonly tokens: string[];
  /** By id, as an issuer gets them. */
  readonly objects: Map<string, Json>;
  readonly classes: Map<string, Json>;
  /** The accounts and the issuer that each may use. */
  readonly accounts: Map<ServiceAccount, string>;
  reply: (request: GoogleRequest) => GoogleReply;
  replyToken: () => GoogleReply;
  /** Ends all access tokens before their time. */
  revokeTokens(): void;
  /** Follows a link as the browser of a person does. @returns the object that is then in the wallet. */
  save(link: string, origin: string): Json;
};

/** @param now the time of the service in ms. */
export async function googleService(
  certificates: Readonly<Record<(typeof googleHosts)[number], Issued>>,
  now: () => number,
): Promise<GoogleService> {
  const valid = new Map<string, { readonly account: ServiceAccount; readonly until: number }>();
  const service = {
    requests: [] as GoogleRequest[],
    tokens: [] as string[],
    objects: new Map<string, Json>(),
    classes: new Map<string, Json>(),
    accounts: new Map<ServiceAccount, string>(),
    reply: (_request: GoogleRequest): GoogleReply => undefined,
    replyToken: (): GoogleReply => undefined,
    revokeTokens: () => valid.clear(),
  };

  function tokenFor(form: URLSearchParams): Json {
    const grant = (error: string, description: string): Rejected => new Rejected(400, error, description);
    if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer')
      throw grant('unsupported_grant_type', 'Invalid grant_type');
    const assertion = form.get('assertion') ?? '';
    const { iss } = JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString()) as Claims;
    const account = [...service.accounts.keys()].find(({ email }) => email === iss);
    if (!account) throw grant('invalid_grant', 'Invalid grant: account not found');
    let claims: Claims;
    try {
      claims = verifiedClaims(assertion, account);
    } catch {
      throw grant('invalid_grant', 'Invalid JWT Signature.');
    }
    const seconds = Math.floor(now() / 1_000);
    const [iat, exp] = [Number(claims['iat']), Number(claims['exp'])];
    if (claims['aud'] !== `https://${tokenHost}/token`)
      throw grant('invalid_grant', 'Invalid JWT: wrong audience.');
    if (!(exp > seconds && iat <= seconds + 300 && exp - iat <= 3_600))
      throw grant('invalid_grant', 'Invalid JWT: Token must be a short-lived token (60 minutes).');
    if (claims['scope'] !== scope)
      throw grant('invalid_scope', 'Invalid OAuth scope or ID token audience provided.');
    const token = `ya29.${String(service.tokens.length)}.${'x'.repeat(120)}`;
    service.tokens.push(token);
    valid.set(token, { account, until: now() + 3_599_000 });
    return { access_token: token, expires_in: 3_599, token_type: 'Bearer' };
  }

  function issuerOf(authorization: string | undefined): string {
    const [, token = ''] = /^Bearer (\S+)$/.exec(authorization ?? '') ?? [];
    const found = valid.get(token);
    if (!found || found.until <= now())
      throw new Rejected(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.');
    return service.accounts.get(found.account) ?? '';
  }

  function call({ method, path, body }: GoogleRequest, issuer: string): Json {
    const [, kind = '', named] =
      /^\/walletobjects\/v1\/giftCard(Object|Class)(?:\/([^/?]+))?$/.exec(path) ?? [];
    if (kind === '') throw new Rejected(404, 'NOT_FOUND', 'Not found.');
    const resource = `GiftCard${kind}` as Resource;
    const all = kind === 'Object' ? service.objects : service.classes;
    check(resource, body, kind === 'Object' ? 'gift_card_object' : 'gift_card_class');
    const id = named === undefined ? String(body['id']) : decodeURIComponent(named);
    if (!/^\d+\.[\w.-]+$/.test(id) || (body['id'] ?? id) !== id) throw invalid('Invalid resource ID');
    if (!id.startsWith(`${issuer}.`))
      throw new Rejected(
        403,
        'PERMISSION_DENIED',
        `The issuer of ${id} has not granted access to this account.`,
      );
    const stored = all.get(id);
    if (method === 'POST' && named === undefined) {
      if (stored) throw new Rejected(409, 'ALREADY_EXISTS', `An existing ${resource} has the id ${id}.`);
      return put(resource, all, id, body);
    }
    if (method !== 'PATCH' || named === undefined)
      throw new Rejected(405, 'UNIMPLEMENTED', 'Method not allowed.');
    if (!stored) throw new Rejected(404, 'NOT_FOUND', `Resource not found: ${id}.`);
    return put(resource, all, id, { ...stored, ...body });
  }

  function put(resource: Resource, all: Map<string, Json>, id: string, content: Json): Json {
    const stored = Object.fromEntries(Object.entries(content).filter(([, value]) => value !== null));
    checkRules(resource, stored);
    if (resource === 'GiftCardObject' && !service.classes.has(String(stored['classId'])))
      throw new Rejected(404, 'NOT_FOUND', `Could not find class ${String(stored['classId'])}.`);
    all.set(id, stored);
    return stored;
  }

  function respond(response: ServerResponse, status: number, content: Json, retryAfter?: string): void {
    response
      .writeHead(status, {
        'content-type': 'application/json; charset=UTF-8',
        ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
      })
      .end(JSON.stringify(content));
  }

  function handle(request: IncomingMessage, response: ServerResponse, text: string): void {
    const host = (request.headers.host ?? '').split(':', 1)[0];
    const { method = '', url: path = '' } = request;
    const override = (reply: Exclude<GoogleReply, undefined>): void => {
      if (reply === 'lost') return void request.socket.destroy();
      const { status, message = '', retryAfter } = reply;
      respond(response, status, { error: { code: status, message, status: 'TEST' } }, retryAfter);
    };
    try {
      if (host === tokenHost && method === 'POST' && path === '/token') {
        const reply = service.replyToken();
        if (reply) return override(reply);
        assert.equal(request.headers['content-type'], 'application/x-www-form-urlencoded');
        return respond(response, 200, tokenFor(new URLSearchParams(text)));
      }
      if (host !== apiHost) throw new Rejected(404, 'NOT_FOUND', 'Not found.');
      const issuer = issuerOf(request.headers.authorization);
      assert.equal(request.headers['content-type'], 'application/json');
      const sent = { method, path, body: JSON.parse(text) as Json };
      service.requests.push(sent);
      const reply = service.reply(sent);
      if (reply) return override(reply);
      respond(response, 200, call(sent, issuer));
    } catch (error) {
      const { status, reason, message } =
        error instanceof Rejected ? error : new Rejected(500, 'INTERNAL', String(error));
      const content =
        host === tokenHost
          ? { error: reason, error_description: message }
          : { error: { code: status, message, status: reason } };
      respond(response, status, content);
    }
  }

  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => handle(request, response, text));
  });
  for (const host of googleHosts) {
    const { certificate: cert, key } = certificates[host];
    server.addContext(host, { cert, key });
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(service, {
    port: (server.address() as AddressInfo).port,
    save(link: string, origin: string): Json {
      const prefix = 'https://pay.google.com/gp/v/save/';
      assert.ok(link.startsWith(prefix));
      const token = link.slice(prefix.length);
      assert.ok(token.length <= 1_800, `a token of ${token.length} characters is too long`);
      const { iss } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims;
      const account = [...service.accounts.keys()].find(({ email }) => email === iss);
      assert.ok(account);
      const { aud, typ, iat, origins, payload, ...others } = verifiedClaims(token, account);
      assert.deepEqual(
        [aud, typ, origins, Object.keys(others)],
        ['google', 'savetowallet', [origin], ['iss']],
      );
      assert.ok(Math.abs(Number(iat) * 1_000 - now()) < 60_000);
      assert.deepEqual(Object.keys(payload ?? {}), ['giftCardObjects']);
      const [named] = payload?.giftCardObjects ?? [];
      const object = service.objects.get(String(named?.['id']));
      assert.ok(object, 'the link names an object that Google has');
      assert.equal(named?.['classId'], object['classId']);
      object['hasUsers'] = true;
      return object;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await Promise.resolve();
    },
  });
}
