/** Detects requests that a proxy forwarded. The peer of such a request is not the caller. */

import type { IncomingMessage } from 'node:http';

/**
 * Names of headers that proxies, load balancers, CDNs and hosting platforms add to requests. They are patterns, because
 * every product has its own names. `X-Request-Id` and trace ids are excluded, because clients send them.
 */
const patterns: readonly RegExp[] = [
  // Forwarded, X-Forwarded-For, X-Original-Forwarded-For, Max-Forwards, X-ProxyUser-Ip, WL-Proxy-Client-IP.
  /forward|forwared|prox(?:y|ied)/,
  // Via, CDN-Loop, Ali-CDN-Real-IP, X-Middleton-Via, Akamai-Origin-Hop.
  /(?:^|-)(?:via|loop|hops?|cdn)(?:-|$)/,
  // X-Real-IP, CF-Connecting-IP, True-Client-IP, X-Appengine-User-IP, X-Remote-Addr, CloudFront-Viewer-Address.
  /(?:^|-)ip(?:v[46])?$|(?:^|-)(?:client|remote|viewer|source|real|external|connecting)-(?:ip|addr|address|host|port|country|proto|cert|ssl|tls)/,
  // The client's request before the proxy rewrote it.
  /^x-(?:real|original|originating|origin|rewrite|rewritten|replaced|host|server|port|url)(?:-|$)/,
  // The client's connection to the proxy: X-Scheme, X-Proto, X-SSL, Front-End-Https, SSL-Client-Verify.
  /^x-(?:url-)?(?:scheme|proto|protocol|https|ssl|tls)(?:-|$)|^(?:front-end-https|ssl|tls)(?:-|$)/,
  // The time at which a router received the request: Heroku, New Relic.
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
 * Whether a request has a header of a proxy, or is HTTP/1.0. nginx before 1.29.7 forwards in HTTP/1.0 without any such
 * header, and clients no longer use HTTP/1.0 by default.
 */
export function looksForwarded({ httpVersion, headers }: IncomingMessage): boolean {
  if (httpVersion === '1.0') return true;
  return Object.keys(headers).some((name) => patterns.some((pattern) => pattern.test(name)));
}
