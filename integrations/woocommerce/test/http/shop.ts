/** A real shop at `WOO_URL`, whose gift cards are in a service of Largesse, with a gateway between them that loses messages. */

import assert from 'node:assert/strict';
import { createClient, type Largesse } from '../../../../packages/client/src/index.ts';
import { scopes, type Scope } from '../../../../src/core/stores/domain/store.ts';
import { createStore } from '../../../../src/core/stores/service/store.ts';
import { createToken } from '../../../../src/core/stores/service/token.ts';
import { readDatabaseConfig } from '../../../../src/start/config.ts';
import { openDatabase } from '../../../../src/start/database.ts';
import type { Environment } from '../../../../test/support/engine-database.ts';
import { newStore } from '../../../../test/support/fixtures.ts';
import { openLosingGateway } from '../../../../test/support/losing-gateway.ts';
import { databaseToServe, serve } from '../../../../test/support/served.ts';

/** The URL of the shop that `test/shop/set-up` serves. */
export const shopUrl = process.env['WOO_URL'] ?? assert.fail('WOO_URL is the URL of the shop: see README.md');

/** The scopes that the documentation asks for. */
const shopScopes = ['read_gift_cards', 'redeem_gift_cards', 'write_gift_cards'] as const;

export type Row = {
  readonly card: number;
  readonly last: string;
  readonly amount: string;
  readonly state: string;
  readonly external: string;
  readonly hold: number;
};

/** The record that the shop has of an order. */
export type ShopOrder = {
  readonly id: number;
  readonly number: string;
  readonly key: string;
  readonly status: string;
  readonly total: string;
  readonly goods: string;
  readonly refunded: string;
  readonly refunds: readonly { readonly amount: string }[];
  readonly method: string;
  readonly items: readonly { readonly id: number; readonly name: string }[];
  readonly cards: {
    readonly rows: readonly Row[];
    readonly refunds: readonly { readonly amount: string; readonly state: string }[];
    readonly dropped: readonly string[];
  } | null;
  readonly issued: readonly { readonly card: number; readonly last: string; readonly state: string }[];
  readonly notes: readonly string[];
  readonly error?: string | null;
};

async function openLargesseStore(environment: Environment) {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: true });
  const { ctx, storage } = database;
  const store = await storage.write(() => createStore(ctx, newStore({ domain: 'woo.example' })));
  const tokenOf = async (name: string, granted: readonly Scope[]): Promise<string> => {
    const { secret } = await storage.write(() => createToken(ctx, { store, name, scopes: granted }));
    return secret.reveal();
  };
  return {
    token: await tokenOf('woocommerce', shopScopes),
    operatorToken: await tokenOf('operator', scopes),
  };
}

/** Runs an operation of `shop-control.php`. */
export async function control<T>(operation: string, input: object = {}): Promise<T> {
  const response = await fetch(`${shopUrl}/wp-json/largesse-test/${operation}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(input),
  });
  const text = await response.text();
  assert.equal(response.status, 200, `${operation}: ${text.slice(0, 500)}`);
  return JSON.parse(text) as T;
}

export const orderOf = (id: number): Promise<ShopOrder> => control<ShopOrder>('order', { id });

/** The mode of the gateway of another plugin. */
export async function gatewayMode(mode: 'pay' | 'decline' | 'fail' | 'hold' | 'redirect'): Promise<void> {
  await control('options', { largesse_test_gateway: mode });
}

export type Shop = Awaited<ReturnType<typeof openShop>>;

/** Starts Largesse and the gateway, and connects the shop. @param hpos whether orders have tables of their own. */
export async function openShop({ hpos }: { readonly hpos: boolean }) {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await databaseToServe({ durable: true }));
  const { token, operatorToken } = await openLargesseStore(database.environment);
  let service = await serve(database.environment);
  stack.defer(() => service[Symbol.asyncDispose]());
  const gateway = stack.use(await openLosingGateway(service.url));
  await control('storage', { hpos });
  assert.deepEqual(await control('storage', { hpos }), { hpos });
  const connect = (options: object = {}): Promise<unknown> =>
    control('options', {
      woocommerce_largesse_settings: {
        url: gateway.url,
        token,
        pays_for_cards: 'no',
        order_days: '7',
        ...options,
      },
      largesse_test_charges: [],
      largesse_test_refunds: [],
      largesse_test_gateway: 'pay',
    });
  await connect();
  const owned = stack.move();
  return {
    gateway,
    connect,
    token,
    /** Largesse, as its operator sees it. */
    cards: (): Largesse => createClient({ url: service.url, token: operatorToken }),
    /** Kills Largesse, and starts it again. */
    async restartLargesse(): Promise<void> {
      service.kill('SIGKILL');
      await service.ended();
      service = await serve(database.environment);
      gateway.target = service.url;
    },
    /** Lets the time of a hold end. */
    async expire(holdId: number): Promise<void> {
      const { hold } = await createClient({ url: service.url, token: operatorToken }).holds.retrieve(holdId);
      await database.meddle(
        `update holds set expires_at = created_at + 1 where external_id = '${hold.external_id}'`,
      );
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Cents of an amount with two decimals. */
export const cents = (amount: string): number => Math.round(Number(amount) * 100);

/** Responds to no request while `body` runs. */
export async function freezing({ gateway }: Shop, body: () => Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<'before'>();
  gateway.lose = () => promise;
  try {
    await body();
  } finally {
    gateway.lose = () => 'none';
    resolve('before');
  }
}

/** Loses the next message of a path while `body` runs. Returns the number of requests of the path. */
export async function losing(
  { gateway }: Shop,
  {
    path,
    fate,
    count = 1,
  }: { readonly path: RegExp; readonly fate: 'before' | 'after'; readonly count?: number },
  body: () => Promise<void>,
): Promise<number> {
  let requests = 0;
  gateway.lose = ({ method, url = '' }) => {
    if (method !== 'POST' || !path.test(url)) return 'none';
    requests += 1;
    return requests <= count ? fate : 'none';
  };
  try {
    await body();
  } finally {
    gateway.lose = () => 'none';
  }
  return requests;
}

/** The first card of an order. */
export function firstRow({ cards }: ShopOrder): Row {
  return cards?.rows[0] ?? assert.fail('the order has no card');
}

/** The id of the item with a name. */
export function itemOf({ items }: Pick<ShopOrder, 'items'>, name: string): number {
  return items.find((item) => item.name === name)?.id ?? assert.fail(`the order has no ${name}`);
}
