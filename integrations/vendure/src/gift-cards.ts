/** The gift cards of a store in Largesse, for the steps of a payment. */

import { createHash, createHmac } from 'node:crypto';
import { isIPv6 } from 'node:net';
import {
  ApiError,
  createClient,
  LargesseError,
  responseOf,
  type Hold,
  type Largesse,
  type RequestOptions,
} from 'largesse-client';
import type { Settings } from './options.ts';

/** The time that one attempt of a request can take: a lost response costs this time once. */
const attemptMs = 1_500;

export interface GiftCards {
  client: Largesse;
  /** Limits all requests of a step of the checkout. */
  checkoutTime: () => RequestOptions;
  /** Limits all requests of a step of an administrator. */
  adminTime: () => RequestOptions;
  /** An object that is younger can belong to another step that has not ended yet, in ms. */
  inProgressMs: number;
}

export function openGiftCards(settings: Settings): GiftCards {
  const { url, token, checkoutTimeoutMs, adminTimeoutMs } = settings;
  const retry = { attemptsMax: 10, totalMs: Math.max(checkoutTimeoutMs, adminTimeoutMs) };
  return {
    client: createClient({ url, token, timeoutMs: attemptMs, retry }),
    checkoutTime: () => ({ signal: AbortSignal.timeout(checkoutTimeoutMs) }),
    adminTime: () => ({ signal: AbortSignal.timeout(adminTimeoutMs) }),
    // Vendure stores the result of a step after it, and times of the service are whole seconds.
    inProgressMs: retry.totalMs + 2_000,
  };
}

/** The person who enters a code: the customer who is signed in, or the client's address. */
export interface Person {
  customerId: string | undefined;
  address: string | undefined;
}

/** The name of a person in requests: a digest under the token. Undefined: nothing is known of the person. */
export function visitorOf({ token }: Pick<Settings, 'token'>, person: Person): string | undefined {
  const { customerId, address } = person;
  if (customerId === undefined && address === undefined) return undefined;
  const name = customerId === undefined ? `address ${networkOf(address ?? '')}` : `customer ${customerId}`;
  return createHmac('sha256', token).update(name).digest('hex');
}

/** The network of an address of IPv6, because one client can have all of its addresses. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  const [start = '', end = ''] = (address.split('%', 1)[0] ?? '').split('::');
  const [first, last] = [start, end].map((text) => text.split(':').filter((group) => group !== ''));
  const zeros = address.includes('::') ? Math.max(0, 8 - (first?.length ?? 0) - (last?.length ?? 0)) : 0;
  const groups = [...(first ?? []), ...Array.from({ length: zeros }, () => '0'), ...(last ?? [])];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

/** The age of an object in a response, in ms. Both times are of the clock of the service. */
export function ageMsOf(result: object, createdAt: string): number {
  return Date.parse(responseOf(result).headers.get('date') ?? createdAt) - Date.parse(createdAt);
}

/** Whether an error leaves the outcome of a request unknown. */
export function isUnknown(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 500;
  return error instanceof LargesseError || isTimeout(error);
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError';
}

/** The error of a request to Largesse. @throws the error if it is of something else. */
export function requestErrorOf(error: unknown): Error {
  if (error instanceof LargesseError || (error instanceof Error && isTimeout(error))) return error;
  throw error;
}

/** The code of an error of the service; undefined: it has none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof ApiError ? error.code : undefined;
}

/** The external id of a step: the same step of an order always has the same one, after a restart too. */
export function externalIdOf(orderCode: string, ...step: readonly (string | number)[]): string {
  return `${prefixOf(orderCode)}${step.join(':')}`;
}

/** Starts the external ids of an order. A shop can configure codes of orders that an external id cannot contain. */
function prefixOf(orderCode: string): string {
  const isValid = /^[\x21-\x7e]{1,128}$/.test(orderCode);
  return `vendure:${isValid ? orderCode : createHash('sha256').update(orderCode).digest('hex')}:`;
}

/** The order of holds and transactions. Largesse accepts at most 255 characters. */
export function orderReferenceOf(orderCode: string): string {
  return orderCode.length <= 255 ? orderCode : prefixOf(orderCode);
}

export interface FoundHold {
  hold: Hold;
  ageMs: number;
}

/** The holds of an order that this payment method made, newest first. */
export async function holdsOf(
  { client }: GiftCards,
  orderCode: string,
  { status, signal }: RequestOptions & { readonly status?: 'open' | undefined },
): Promise<readonly FoundHold[]> {
  const found: FoundHold[] = [];
  const query = { order_reference: orderReferenceOf(orderCode), status, limit: 250 };
  for await (const page of client.holds.list(query, { signal }).pages())
    for (const hold of page.holds)
      // Another program of the shop can hold cards for the same order.
      if (hold.external_id?.startsWith(prefixOf(orderCode)) === true)
        found.push({ hold, ageMs: ageMsOf(page, hold.created_at) });
  return found;
}
