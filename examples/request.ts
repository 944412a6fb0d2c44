/** Requests of the examples: every write has an Idempotency-Key, so that it can be retried. */
import { randomUUID } from 'node:crypto';

interface Problem {
  type: string;
  errors: unknown;
}

export interface Api<Result> {
  /** Sends a request that must succeed. @throws Error with the response otherwise. */
  call: (method: string, path: string, body?: object) => Promise<Result>;
  /** Sends a request that must fail. Returns the error's code and messages. */
  callRejected: (method: string, path: string, body?: object) => Promise<string>;
  /** Returns the members of a list, page after page. */
  listAll: <Member>(path: string, member: string) => Promise<Member[]>;
}

/** @param url the root of the service, of which it may name a folder. */
export function openApi<Result>({ url, token }: { url: string; token: string | undefined }): Api<Result> {
  const root = url.replace(/\/+$/, '');
  /** Each run has Idempotency-Keys of its own. */
  const run = randomUUID();
  let requests = 0;

  async function send(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ ok: boolean; json: unknown; next?: string }> {
    requests += 1;
    const response = await fetch(root + path, {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(method === 'POST' && { 'idempotency-key': `example-${run}-${requests}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const [, next] = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
    return { ok: response.ok, json: await response.json(), ...(next !== undefined && { next }) };
  }

  async function call(method: string, path: string, body?: object): Promise<unknown> {
    const { ok, json } = await send(method, path, body);
    if (!ok) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`);
    return json;
  }

  return {
    call: async (method, path, body) => (await call(method, path, body)) as Result,
    async callRejected(method, path, body) {
      const { ok, json } = await send(method, path, body);
      if (ok) throw new Error(`${method} ${path} was not rejected`);
      const { type, errors } = json as Problem;
      return `${type.split('/').at(-1)} ${JSON.stringify(errors)}`;
    },
    async listAll<Member>(first: string, member: string) {
      const members: Member[] = [];
      for (let path: string | undefined = first; path !== undefined;) {
        const { ok, json, next } = await send('GET', path);
        if (!ok) throw new Error(`${path}: ${JSON.stringify(json)}`);
        members.push(...((json as Record<string, Member[]>)[member] ?? []));
        // A link is a path from the root of the host, of which the URL may name a folder.
        path = next?.slice(new URL(root).pathname.replace(/\/$/, '').length);
      }
      return members;
    },
  };
}

/** The exact sum of decimal strings of one currency. */
export function sum(amounts: readonly string[]): string {
  const decimals = amounts[0]?.split('.')[1]?.length ?? 0;
  const total = amounts.reduce((minor, amount) => minor + BigInt(amount.replace('.', '')), 0n);
  const sign = total < 0n ? '-' : '';
  const digits = String(total)
    .replace('-', '')
    .padStart(decimals + 1, '0');
  return decimals === 0 ? sign + digits : `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}
