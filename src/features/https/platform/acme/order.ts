/** The order of a certificate (RFC 8555, 7.4): authorizations by HTTP (http-01), signing request, certificate. */

import { setTimeout as wait } from 'node:timers/promises';
import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../../../platform/clock.ts';
import { problemIn, type AcmeClient } from './client.ts';
import { signingRequestOf } from './der.ts';
import { objectOf, objectListIn, parseResponseObject, textIn, textListIn, type JsonObject } from './json.ts';
import { AcmeProblem } from './problem.ts';

export type OrderOptions = {
  readonly domain: string;
  /** The private key of the certificate. */
  readonly key: KeyObject;
  /** The order of an earlier attempt with this key; null: none. */
  readonly started: string | null;
  /** The id of the certificate that it replaces (RFC 9773); null: none. */
  readonly replaces: string | null;
  /** Called with the URL of a new order before its first challenge. */
  readonly ordered: (order: string) => Promise<void>;
  /** Publishes a proof at `/.well-known/acme-challenge/<token>` on port 80 of the domain. */
  readonly publish: (token: string, proof: string) => Promise<void>;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'monotonic'>;
};

/** The longest time for an authority to check a proof, or to issue a certificate. */
const orderMaxMs = 120_000;
const pollFirstMs = 250;
const pollMaxMs = 5_000;
const listMax = 32;
const tokenForm = /^[\w-]{16,128}$/;

/** Obtains a certificate: the chain in PEM. @throws AcmeProblem, or the error of the connection. */
export async function obtainChain(client: AcmeClient, options: OrderOptions): Promise<string> {
  const until = options.clock.monotonic() + orderMaxMs;
  const url = (await continued(client, options.started)) ?? (await newOrder(client, options));
  const poll = async (place: string, pending: readonly string[]): Promise<JsonObject> => {
    for (let pauseMs = pollFirstMs; ; pauseMs = Math.min(pauseMs * 1.6, pollMaxMs)) {
      const reply = await client.post(place, null);
      const object = parseResponseObject(reply.text);
      if (!pending.includes(textIn(object, 'status'))) return object;
      const nextMs = Math.max(pauseMs, reply.retryAfterMs ?? 0);
      if (options.clock.monotonic() + nextMs > until)
        throw new AcmeProblem('timeout', `The order is still ${textIn(object, 'status')}.`);
      await wait(nextMs, undefined, { signal: options.signal });
    }
  };

  const order = parseResponseObject((await client.post(url, null)).text);
  if (textIn(order, 'status') === 'pending')
    for (const authorization of textListIn(order, 'authorizations', listMax))
      await authorize(client, authorization, { ...options, poll });
  let last = await poll(url, ['pending']);
  if (textIn(last, 'status') === 'ready') {
    const csr = signingRequestOf(options.domain, options.key).toString('base64url');
    await client.post(textIn(last, 'finalize'), { csr });
    last = await poll(url, ['ready', 'processing']);
  } else if (textIn(last, 'status') === 'processing') last = await poll(url, ['processing']);
  assertValid(last);
  return (await client.post(textIn(last, 'certificate'), null)).text;
}

/** The order of an earlier attempt if it can still lead to a certificate. */
async function continued(client: AcmeClient, started: string | null): Promise<string | undefined> {
  if (started === null) return undefined;
  try {
    const order = parseResponseObject((await client.post(started, null)).text);
    return textIn(order, 'status') === 'invalid' ? undefined : started;
  } catch (error) {
    // The authority has removed it, or it belongs to another authority.
    if (error instanceof AcmeProblem && error.retryAfterMs === null) return undefined;
    throw error;
  }
}

async function newOrder(client: AcmeClient, { domain, replaces, ordered }: OrderOptions): Promise<string> {
  const identifiers = [{ type: 'dns', value: domain }];
  const send = (extra: JsonObject) => client.post(client.newOrder, { identifiers, ...extra });
  const reply =
    replaces === null || client.renewalInfo === undefined
      ? await send({})
      : await send({ replaces }).catch((error: unknown) => {
          // The certificate was already replaced, or the authority does not know it.
          if (
            !(error instanceof AcmeProblem) ||
            error.type === 'rateLimited' ||
            error.type === 'serverInternal'
          )
            throw error;
          return send({});
        });
  if (reply.location === undefined)
    throw new AcmeProblem('malformedResponse', 'the authority does not name the order');
  await ordered(reply.location);
  return reply.location;
}

async function authorize(
  client: AcmeClient,
  url: string,
  {
    publish,
    poll,
  }: Pick<OrderOptions, 'publish'> & {
    readonly poll: (place: string, pending: readonly string[]) => Promise<JsonObject>;
  },
): Promise<void> {
  const authorization = parseResponseObject((await client.post(url, null)).text);
  if (textIn(authorization, 'status') === 'valid') return;
  const challenge = objectListIn(authorization, 'challenges', listMax).find(({ type }) => type === 'http-01');
  if (!challenge) throw new AcmeProblem('noChallenge', 'the authority offers no challenge by HTTP');
  const token = textIn(challenge, 'token');
  if (!tokenForm.test(token))
    throw new AcmeProblem('malformedResponse', 'the token has characters that it cannot have');
  await publish(token, client.proofOf(token));
  await client.post(textIn(challenge, 'url'), {});
  const checked = await poll(url, ['pending', 'processing']);
  if (textIn(checked, 'status') === 'valid') return;
  const { error } =
    objectListIn(checked, 'challenges', listMax).find((each) => each['error'] !== undefined) ?? {};
  throw error === undefined
    ? new AcmeProblem('unauthorized', `the authorization is ${textIn(checked, 'status')}`)
    : problemIn(objectOf(error), { status: 0 });
}

/** @throws AcmeProblem that says why the authority does not issue the certificate. */
function assertValid(order: JsonObject): void {
  const status = textIn(order, 'status');
  if (status === 'valid') return;
  throw order['error'] === undefined
    ? new AcmeProblem('rejected', `the order is ${status}`)
    : problemIn(objectOf(order['error']), { status: 0 });
}
