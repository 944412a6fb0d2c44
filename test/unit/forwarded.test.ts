/** Forwarded requests have a header of any proxy, CDN or platform. */

import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import test from 'node:test';
import { looksForwarded } from '../../src/http/forwarded.ts';

function looks(names: readonly string[], httpVersion = '1.1'): boolean {
  const headers = Object.fromEntries(names.map((name) => [name.toLowerCase(), 'x']));
  return looksForwarded({ httpVersion, headers } as unknown as IncomingMessage);
}

const ofProxies = [
  'Forwarded', 'Forwarded-For', 'Forwarded-For-Ip', 'Via', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto',
  'X-Forwarded-Port', 'X-Forwarded-Server', 'X-Forwarded-Prefix', 'X-Forwarded-Path', 'X-Forwarded-Uri', 'X-Forwarded',
  'X-Forwarded-Scheme', 'X-Forwarded-Ssl', 'X-Forwarded-Client-Cert', 'X-Forwarded-Tls-Client-Cert', 'X-Forwarded-By',
  'X-Forwared-Host', 'X-Forward-For', 'X-Forwarder-For', 'X-Original-Forwarded-For', 'Z-Forwarded-For', 'Max-Forwards',
  'X-Original-Host', 'X-Original-URL', 'X-Original-URI', 'X-Original-For', 'X-Original-Proto', 'X-Original-Method',
  'X-Originating-IP', 'X-Origin-Host', 'X-Rewrite-URL', 'X-Replaced-Path', 'X-Real-IP', 'X-Real-Port', 'X-Real-Client-IP',
  'X-Client-IP', 'Client-IP', 'True-Client-IP', 'X-True-Client-IP', 'X-Cluster-Client-IP', 'Cluster-Client-IP',
  'X-Remote-IP', 'X-Remote-Addr', 'Remote-Addr', 'X-Remote-Host', 'X-ProxyUser-Ip', 'X-Proxy-Id', 'Proxy-Client-IP',
  'WL-Proxy-Client-IP', 'WL-Proxy-SSL', 'Proxy-Connection', 'Proxy', 'X-BlueCoat-Via', 'X-Scheme', 'X-Url-Scheme',
  'X-Proto', 'X-HTTPS', 'X-SSL', 'Front-End-Https', 'SSL-Client-Verify', 'X-SSL-Client-Cert', 'X-Client-Cert', 'X-Host',
  'X-Server-Name', 'X-Request-Start', 'X-Queue-Start', 'Connect-Time', 'Total-Route-Time', 'X-Custom-IP-Authorization-IP',
  'CF-Connecting-IP', 'CF-Connecting-IPv6', 'CF-Pseudo-IPv4', 'CF-IPCountry', 'CF-Ray', 'CF-Visitor', 'CF-Worker',
  'CF-EW-Via', 'CDN-Loop', 'Cloudflare-CDN-Cache-Control', 'CloudFront-Viewer-Address', 'CloudFront-Viewer-Country',
  'CloudFront-Forwarded-Proto', 'Fastly-Client-IP', 'Fastly-Client', 'Fastly-FF', 'Fastly-SSL', 'X-Fastly-Request-ID',
  'X-Varnish', 'Surrogate-Capability', 'Fly-Client-IP', 'Fly-Forwarded-Port', 'Fly-Region', 'Fly-Request-Id',
  'Akamai-Origin-Hop', 'X-Akamai-Config-Log-Detail', 'X-Akamai-Edgescape', 'Incap-Client-IP', 'X-Iinfo',
  'X-Sucuri-ClientIP', 'X-Sucuri-Country', 'Ali-CDN-Real-IP', 'CDN-Src-IP', 'X-CDN', 'X-Edge-Location',
  'X-Amzn-Trace-Id', 'X-Amz-Cf-Id', 'X-Amzn-Mtls-Clientcert', 'X-Amzn-Oidc-Data', 'X-Azure-ClientIP',
  'X-Azure-SocketIP', 'X-Azure-Ref', 'X-Azure-FDID', 'X-FD-HealthProbe', 'X-ARR-LOG-ID', 'X-ARR-SSL', 'X-ARR-ClientCert',
  'X-MS-Client-Principal', 'X-WAWS-Unencoded-URL', 'X-Site-Deployment-Id', 'X-AppService-Proto', 'Disguised-Host',
  'Was-Default-Hostname', 'X-Appengine-User-IP', 'X-Appengine-Country', 'X-Cloud-Trace-Context', 'X-Google-Real-IP',
  'X-Goog-IAP-JWT-Assertion', 'X-GFE-Request-Trace', 'X-Envoy-External-Address', 'X-Envoy-Expected-Rq-Timeout-Ms',
  'X-Envoy-Attempt-Count', 'X-Envoy-Internal', 'X-Kong-Request-Id', 'X-Consumer-Id', 'X-Nginx-Proxy', 'X-Ingress-Class',
  'Ngrok-Skip-Browser-Warning', 'Tailscale-User-Login', 'X-Vercel-Id', 'X-Vercel-IP-Country', 'X-NF-Client-Connection-IP',
  'X-NF-Request-ID', 'X-Render-Origin-Server', 'Rndr-Id', 'X-Railway-Edge', 'DO-Connecting-IP', 'Oxygen-Buyer-IP',
] as const; // prettier-ignore

test('any header of a proxy, CDN or platform makes a request forwarded', () => {
  assert.deepEqual(
    ofProxies.filter((name) => !looks([name])),
    [],
  );
  assert.ok(ofProxies.length > 130);
});

const ofClients = [
  'Host', 'Connection', 'Keep-Alive', 'Accept', 'Accept-Charset', 'Accept-Encoding', 'Accept-Language', 'Accept-Datetime',
  'Authorization', 'X-Access-Token', 'X-GCF-Access-Token', 'X-API-Key', 'Cache-Control', 'Pragma', 'Content-Length',
  'Content-Type', 'Content-Encoding', 'Content-MD5', 'Transfer-Encoding', 'TE', 'Trailer', 'Upgrade', 'Expect', 'Cookie',
  'Date', 'DNT', 'From', 'If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Range', 'Range', 'Idempotency-Key', 'Origin',
  'Referer', 'User-Agent', 'Upgrade-Insecure-Requests', 'Priority', 'Purpose', 'Sec-Fetch-Dest', 'Sec-Fetch-Mode',
  'Sec-Fetch-Site', 'Sec-Fetch-User', 'Sec-CH-UA', 'Sec-CH-UA-Mobile', 'Sec-CH-UA-Platform', 'Sec-GPC', 'Sec-Purpose',
  'Last-Event-ID', 'X-Request-Id', 'X-Correlation-Id', 'X-Requested-With', 'X-CSRF-Token', 'X-Client-Version',
  'X-Client-Info', 'X-HTTP-Method-Override', 'Traceparent', 'Tracestate', 'Baggage', 'B3', 'X-B3-TraceId', 'Sentry-Trace',
  'Postman-Token', 'Insomnia-Version', 'X-Stainless-Lang', 'X-Shop', 'X-Membership', 'X-Trip', 'X-Zip', 'X-Recipient',
  'Device-Memory', 'Downlink', 'ECT', 'RTT', 'Save-Data', 'Viewport-Width', 'Access-Control-Request-Method',
] as const; // prettier-ignore

test('the headers of clients do not make a request forwarded, even all together', () => {
  assert.deepEqual(
    ofClients.filter((name) => looks([name])),
    [],
  );
  assert.ok(!looks(ofClients));
});

test('HTTP/1.0 makes a request forwarded, without any header', () => {
  assert.ok(looks(['Host'], '1.0'));
  assert.ok(!looks(['Host'], '1.1'));
});
