/** Sends a response of the pages, with the headers that all have. */

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { sendCompressed } from '../../http/documents.ts';
import { streamHeaders } from '../../http/streams.ts';
import { mergeCookies } from './cookie.ts';
import type { ConsoleServices } from './services.ts';
import type { ConsoleResponse, ConsoleRoute } from './route.ts';

function policyOf(scripts: string, frames = "'none'"): string {
  return `default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self'; script-src ${scripts}; connect-src 'self'; frame-src ${frames}; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;
}

const policy = policyOf("'self'");

const policyWithWebAssembly = policyOf("'self' 'wasm-unsafe-eval'");

const policyWithFrame = policyOf("'self'", "'self'");

/** Browsers apply it to the redirect after a form as well. */
const policyToGoogle = policy.replace("form-action 'self'", "form-action 'self' https://pay.google.com");

const policyToPayment = policy.replace("form-action 'self'", "form-action 'self' https:");

/** For an email in a frame: it can neither run a script nor send a form, and it has no origin. */
const framedPolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

/** For a page in a frame: its style sheets, fonts and pictures have the origin of the service. */
const framedPagePolicy =
  "sandbox allow-same-origin; default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

export const pageHeaders = {
  'content-security-policy': policy,
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'permissions-policy': 'camera=(self), geolocation=(), microphone=()',
};

/**
 * For an error page without a form, a link or a fact of a person or store, so any website can show it in a frame. The domains
 * of the shop would need a read of the database for each request that is rejected.
 */
export const framedErrorHeaders = {
  ...pageHeaders,
  'content-security-policy': policy.replace("frame-ancestors 'none'", "frame-ancestors 'self' https:"),
};

type RouteNeeds = Pick<
  ConsoleRoute,
  'sendsFile' | 'usesWebAssembly' | 'hasFrame' | 'isCompressed' | 'leadsToGoogle' | 'leadsToPayment'
>;

/** The headers of a route that needs more than other pages. */
function policyHeaders({
  usesWebAssembly = false,
  hasFrame = false,
  leadsToGoogle = false,
  leadsToPayment = false,
}: RouteNeeds): Readonly<Record<string, string>> {
  if (usesWebAssembly) return { 'content-security-policy': policyWithWebAssembly };
  if (leadsToPayment) return { 'content-security-policy': policyToPayment };
  if (leadsToGoogle) return { 'content-security-policy': policyToGoogle };
  return hasFrame ? { 'content-security-policy': policyWithFrame } : {};
}

export async function send(
  reply: FastifyReply,
  response: ConsoleResponse,
  { origin }: Pick<ConsoleServices, 'origin'>,
  route: RouteNeeds = {},
): Promise<FastifyReply> {
  reply.headers({ ...pageHeaders, ...policyHeaders(route) }).code(response.status);
  if ('framed' in response || 'framedPage' in response) {
    const [shown, own] =
      'framed' in response
        ? [response.framed, framedPolicy]
        : [String(response.framedPage), framedPagePolicy];
    reply.header('content-security-policy', own);
    // A browser does not open a sandboxed document in a group of windows of its own.
    reply.header('cross-origin-opener-policy', 'unsafe-none');
    return reply.type('text/html; charset=utf-8').send(shown);
  }
  if ('image' in response) {
    const { type, content } = response.image;
    reply.header('cache-control', 'public, max-age=31536000, immutable');
    return reply.type(type).send(Buffer.from(content));
  }
  if ('stream' in response) return reply.headers(streamHeaders).send(response.stream);
  if ('url' in response) return reply.header('location', response.url.reveal()).send();
  if (response.cookies) setCookies(reply, response.cookies);
  if (response.status === 303) return reply.header('location', `${origin.basePath}${response.path}`).send();
  if (response.status === 429) reply.header('retry-after', String(response.retryAfterSeconds));
  if ('json' in response) return reply.type('application/json').send(JSON.stringify(response.json));
  if ('file' in response) {
    assert(route.sendsFile, 'the route does not say which file it sends');
    const { name, type, parts } = response.file;
    reply.header('content-disposition', `attachment; filename="${name}"`).type(type);
    return reply.send(Readable.from(parts));
  }
  reply.type('text/html; charset=utf-8');
  if (response.framedBy && response.framedBy.length > 0)
    reply.header('content-security-policy', framedByPolicy(reply, response.framedBy));
  const page = String(response.body);
  return route.isCompressed === true ? await sendCompressed(reply.request, reply, page) : reply.send(page);
}

/** The policy of a page that pages of other hosts can show in a frame. */
function framedByPolicy(reply: FastifyReply, hosts: readonly string[]): string {
  const ancestors = ["'self'", ...hosts.map((host) => `https://${host}`)].join(' ');
  return String(reply.getHeader('content-security-policy')).replace(
    "frame-ancestors 'none'",
    `frame-ancestors ${ancestors}`,
  );
}

/** A renewed session can be set already. */
function setCookies(reply: FastifyReply, cookies: readonly string[]): void {
  const before = reply.getHeader('set-cookie');
  reply.removeHeader('set-cookie');
  reply.header('set-cookie', mergeCookies(Array.isArray(before) ? before : [], cookies));
}
