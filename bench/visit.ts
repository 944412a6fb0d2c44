/** Requests of a browser that is signed in as an owner. */

import type { Server } from './processes.ts';

/** @param form its fields, or with files. */
export type Visit = (path: string, form?: Readonly<Record<string, string>> | FormData) => Promise<Response>;

const password = 'correct horse battery';

/** Signs a new owner in with a link. */
export async function signIn({ port }: Pick<Server, 'port'>, link: string): Promise<Visit> {
  const origin = `http://localhost:${port}`;
  const cookies = new Map<string, string>();
  const visit: Visit = async (path, form) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        origin: `http://127.0.0.1:${port}`,
        cookie: Array.from(cookies, (pair) => pair.join('=')).join('; '),
      },
      ...(form && { method: 'POST', body: form instanceof FormData ? form : new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      cookies.set(name, value);
    }
    return response;
  };
  const joined = await visit(new URL(link, origin).pathname, { password });
  if (joined.status !== 303) throw new Error(`joining returned ${joined.status}`);
  return visit;
}

/** Issues a batch of equal cards. @returns the path of its page. */
export async function addBatch(
  visit: Visit,
  { count, value }: { readonly count: number; readonly value: number },
): Promise<string> {
  const equal = { kind: 'equal', count: String(count), value: String(value), name: 'Bench' };
  const check = await (await visit('/cards/batches/new', equal)).text();
  const [, key = ''] = /name="key" value="([^"]+)"/.exec(check) ?? [];
  const sums = { expected_count: String(count), expected_total: String(count * value) };
  const issued = await visit('/cards/batches/issue', { ...equal, ...sums, key });
  const path = issued.headers.get('location');
  if (path === null) throw new Error(`issuing a batch returned ${issued.status}: ${await issued.text()}`);
  return path;
}
