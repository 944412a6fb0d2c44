/** Requests that a proxy forwarded: the peer is then not the caller. */

import type { IncomingMessage } from 'node:http';

/**
 * Names of headers that proxies, load balancers, CDNs and hosting platforms add to a request. Patterns rather than a
 * list, because every product has its own names for the same few things: what it forwarded, whose address it saw, and
 * that it was there. `X-Request-Id` and trace ids are missing, because clients send them too.
 */
const patterns: readonly RegExp[] = [
  // Forwarded, X-Forwarded-For, X-Original-Forwarded-For, Max-Forwards, X-ProxyUser-Ip, WL-Proxy-Client-IP.
  /forward|forwared|prox(?:y|ied)/,
  // Via, CDN-Loop, Ali-CDN-Real-IP, X-Middleton-Via, Akamai-Origin-Hop.
  /(?:^|-)(?:via|loop|hops?|cdn)(?:-|$)/,
  // X-Real-IP, CF-Connecting-IP, True-Client-IP, X-Appengine-User-IP, X-Remote-Addr, CloudFront-Viewer-Address.
  /(?:^|-)ip(?:v[46])?$|(?:^|-)(?:client|remote|viewer|source|real|external|connecting)-(?:ip|addr|address|host|port|country|proto|cert|ssl|tls)/,
  // What the client sent before the proxy rewrote it.
  /^x-(?:real|original|originating|origin|rewrite|rewritten|replaced|host|server|port|url)(?:-|$)/,
  // How the client reached the proxy: X-Scheme, X-Proto, X-SSL, Front-End-Https, SSL-Client-Verify.
  /^x-(?:url-)?(?:scheme|proto|protocol|https|ssl|tls)(?:-|$)|^(?:front-end-https|ssl|tls)(?:-|$)/,
  // When the request reached a router: Heroku, New Relic.
  /^x-(?:request|queue)-start$|^(?:connect-time|total-route-time)$/,
  // Cloudflare, CloudFront, Fastly, Fly.io, Akamai, Imperva, Sucuri, Varnish and other caches.
  /^(?:x-)?(?:cf|cloudflare|cloudfront|fastly|fly|akamai|incap|sucuri|varnish|surrogate|edge|bunny)(?:-|$)|^x-iinfo$/,
  // Amazon, Azure, Google.
  /^x-(?:amz|amzn|azure|arr|ms|waws|fd|appengine|appservice|gfe|goog|google|cloud)-|^x-site-deployment-id$/,
  /^(?:disguised-host|was-default-hostname)$/,
  // Envoy, Traefik, Kong, HAProxy, nginx, ngrok, Tailscale, Vercel, Netlify, Render, Railway, DigitalOcean.
  /^(?:x-)?(?:envoy|traefik|kong|consumer|haproxy|nginx|ingress|ngrok|tailscale|vercel|nf|netlify|render|rndr|railway|heroku|do)-/,
];

/**
 * Whether a request looks as if a proxy forwarded it: by a header, or by HTTP/1.0, in which nginx (before 1.29.7)
 * forwards without any header, and which clients no longer speak by default.
 */
export function looksForwarded({ httpVersion, headers }: IncomingMessage): boolean {
  if (httpVersion === '1.0') return true;
  return Object.keys(headers).some((name) => patterns.some((pattern) => pattern.test(name)));
}
