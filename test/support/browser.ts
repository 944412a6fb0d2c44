/** A browser without scripts, for tests of the pages: it keeps cookies and sends the headers that browsers send. */

import assert from 'node:assert/strict';
import type { TestResponse, TestService } from './service.ts';

export type Browser = {
  readonly cookies: Map<string, string>;
  get(path: string): Promise<TestResponse>;
  /** Submits a form of a page of the same origin. */
  post(path: string, form?: Readonly<Record<string, string>>): Promise<TestResponse>;
  /** Requests with other headers. */
  request(
    path: string,
    options: {
      readonly method?: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
    },
  ): Promise<TestResponse>;
};

/** The forms of a visitor behind a proxy, which says the address. */
export function visitorAt(service: Pick<TestService, 'url' | 'request'>, address: string): Browser['post'] {
  const browser = openBrowser(service);
  return (path, form = {}) =>
    browser.request(path, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        'x-forwarded-for': address,
      },
      body: new URLSearchParams(form).toString(),
    });
}

export function openBrowser(service: Pick<TestService, 'url' | 'request'>): Browser {
  const cookies = new Map<string, string>();
  const { host } = new URL(service.url);
  const origin = host.replace('127.0.0.1', 'localhost');
  const request: Browser['request'] = async (path, { method = 'GET', headers = {}, body }) => {
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ');
    const response = await service.request(path, {
      method,
      headers: {
        host: origin,
        'user-agent': 'Test/1.0',
        'accept-language': 'en-US,en;q=0.9',
        ...(cookie !== '' && { cookie }),
        ...headers,
      },
      ...(body !== undefined && { body }),
    });
    if (response.status === 429) assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d*$/, path);
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      assert.notEqual(name, '');
      if (/; Max-Age=0(?:;|$)/.test(set)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  return {
    cookies,
    request,
    get: (path) => request(path, { headers: { 'sec-fetch-site': 'same-origin' } }),
    post: (path, form = {}) =>
      request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams(form).toString(),
      }),
  };
}

/** Submits a form with files. @param files by the names of their fields; null: none was chosen. */
export async function postFiles(
  browser: Browser,
  path: string,
  {
    fields = {},
    files,
  }: {
    readonly fields?: Readonly<Record<string, string>>;
    readonly files: Readonly<Record<string, Uint8Array | string | null>>;
  },
): Promise<TestResponse> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  for (const [name, content] of Object.entries(files))
    form.set(name, new Blob(content === null ? [] : [Buffer.from(content)]), content === null ? '' : 'file');
  const encoded = new Response(form);
  const headers = {
    'content-type': encoded.headers.get('content-type') ?? '',
    'sec-fetch-site': 'same-origin',
  };
  const body = Buffer.from(await encoded.arrayBuffer());
  return await browser.request(path, { method: 'POST', headers, body });
}
