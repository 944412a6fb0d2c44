/**
 * Buyers of gift cards in a sandbox whose service is killed. They send a request that has no response again, as people do, and
 * keep what the pages have said.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { buyTextsOf } from '../../src/features/recipient/pages/texts.ts';
import type { SandboxAction, SandboxMethod } from '../../src/features/online-sales/domain/sandbox-payment.ts';
import { openBrowser, type Browser } from './browser.ts';
import { buyDomain, giftForm, keyIn, redirectOf, type FormValues } from './buy-page.ts';
import { textOfPage } from './counter-staff.ts';
import { send, type TestRequest, type TestResponse } from './http-client.ts';
import type { Seeded } from './seeded.ts';

const path = `/buy/${buyDomain}`;
const texts = buyTextsOf('en');

/** An order, and what its buyer has learnt of it. */
export type BuyerOrder = {
  readonly browser: Browser;
  /** The path of the page of its payment. */
  readonly session: string;
  /** The address of the buyer. */
  readonly address: string;
  /** The path of its own page; null: the buyer was not there. */
  page: string | null;
  /** The finished entries of its page. */
  readonly facts: Set<string>;
  /** The actions at the provider that had a response. */
  readonly acted: Set<SandboxAction>;
  isWithdrawn: boolean;
};

export type Buying = {
  readonly orders: BuyerOrder[];
  readonly responses: () => number;
  /** Requests that were sent and had no response. */
  readonly cut: () => number;
  /** Buys until `stop` is called, and then ends the order that was begun. */
  readonly buy: () => Promise<void>;
  readonly stop: () => void;
  /** Requests are no longer sent again. */
  readonly abandon: () => void;
  /** Sends a request to the API until it has a response. */
  readonly call: (path: string, request: TestRequest) => Promise<TestResponse>;
};

type Parts = {
  readonly url: string;
  readonly token: string;
  readonly random: Seeded;
  /** The public id of the card of a session; undefined: it has none. */
  readonly cardOf: (sessionId: string) => Promise<number | undefined>;
};

function isCut(error: unknown): error is Error & { readonly code?: string } {
  const isSystem = error instanceof Error && 'code' in error;
  return isSystem && ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(String(error.code));
}

/** The finished entries of the page of an order. The first one is replaced after the payment. */
function factsIn({ text }: Pick<TestResponse, 'text'>): ReadonlySet<string> {
  const names = Array.from(
    text.matchAll(/<li class="money"><span><strong>([^<]+)<\/strong>/g),
    ([, name = '']) => name,
  );
  return new Set(names.filter((name) => name !== texts.ordered));
}

/** Requests the page of an order, which still says all that it has said. */
export async function visitOrder(order: BuyerOrder): Promise<TestResponse> {
  assert(order.page !== null);
  const shown = await order.browser.get(order.page);
  assert.equal(shown.status, 200, textOfPage(shown));
  const facts = factsIn(shown);
  for (const fact of order.facts) assert(facts.has(fact), `no longer ${fact}: ${textOfPage(shown)}`);
  for (const fact of facts) order.facts.add(fact);
  return shown;
}

export function openBuying({ url, token, random, cardOf }: Parts): Buying {
  const counts = { responses: 0, cut: 0, visitors: 0 };
  const orders: BuyerOrder[] = [];
  const state = { isOver: false, isAbandoned: false };

  const persist = async (target: string, request: TestRequest = {}): Promise<TestResponse> => {
    for (;;)
      try {
        const response = await send(`${url}${target}`, request);
        counts.responses += 1;
        assert(response.status < 500, `${target}: ${response.status} ${response.text}`);
        return response;
      } catch (error) {
        if (!isCut(error) || state.isAbandoned) throw error;
        if (error.code !== 'ECONNREFUSED') counts.cut += 1;
        await wait(20);
      }
  };

  /** Requests of one visitor are limited, so each one has another address. */
  const openVisitor = (): Browser => {
    counts.visitors += 1;
    const address = `198.18.${counts.visitors >> 8}.${counts.visitors & 255}`;
    return openBrowser({
      url,
      request: (target, request = {}) =>
        persist(target, { ...request, headers: { ...request.headers, 'x-forwarded-for': address } }),
    });
  };

  /** Does the same once or twice at the same time. */
  const perhapsTwice = async <T>(act: () => Promise<T>): Promise<readonly T[]> =>
    await Promise.all(Array.from({ length: random.between(1, 2) }, act));

  const formOfBuyer = (): FormValues => {
    const buyer = { buyer_email: `ada${random.between(1, 40)}@example.com` };
    const amount =
      random() < 0.5
        ? { amount: '5000' }
        : { amount: 'own', own: `${random.between(10, 160)}.${random.between(10, 99)}` };
    const isOwn = random() < 0.3;
    const own = { for: 'me', to: '', from: '', message: '', email: '' };
    return { ...giftForm, ...(isOwn && own), ...amount, ...buyer };
  };

  const begin = async (): Promise<BuyerOrder> => {
    const browser = openVisitor();
    const filled = formOfBuyer();
    const form = { ...filled, key: keyIn((await browser.get(path)).text) };
    const begun = await perhapsTwice(async () => {
      const response = await browser.post(path, form);
      assert.equal(response.status, 303, textOfPage(response));
      return redirectOf(response);
    });
    const [session = '', ...others] = new Set(begun);
    assert.deepEqual(others, [], 'one form has led to two payments');
    assert.match(session, /^\/sandbox\/pay\//);
    const rest = { facts: new Set<string>(), acted: new Set<SandboxAction>() };
    const address = filled['buyer_email'] ?? '';
    const order: BuyerOrder = { browser, session, address, page: null, isWithdrawn: false, ...rest };
    orders.push(order);
    return order;
  };

  /** Does something on the page of the provider. */
  const act = async (
    order: BuyerOrder,
    action: SandboxAction,
    method: SandboxMethod = 'card',
  ): Promise<void> => {
    const responses = await perhapsTwice(() => order.browser.post(order.session, { action, method }));
    for (const response of responses) {
      assert.equal(response.status, 303, textOfPage(response));
      const target = redirectOf(response);
      if (target.startsWith(`${path}/order/`)) order.page = target;
    }
    order.acted.add(action);
  };

  const withdraw = async (order: BuyerOrder): Promise<void> => {
    for (const response of await perhapsTwice(() =>
      order.browser.post(`${order.page}/withdraw`, { email: order.address }),
    ))
      // 200: the page says that nothing is left to withdraw from.
      if (response.status === 303) order.isWithdrawn ||= redirectOf(response).endsWith('done=withdrawn');
      else assert.equal(response.status, 200, textOfPage(response));
    await visitOrder(order);
  };

  const spend = async (order: BuyerOrder): Promise<void> => {
    const sessionId = order.session.split('/').at(-1) ?? '';
    const id = await cardOf(sessionId);
    if (id === undefined) return;
    const json = { amount: `${random.between(1, 9)}.00`, external_id: sessionId };
    await perhapsTwice(() => persist(`/gift_card/${id}/debit`, { method: 'POST', json, token }));
  };

  /** The events after a payment. A provider does not refund what a bank has taken, so an order has one of both. */
  const endings: readonly ((order: BuyerOrder) => Promise<unknown>)[] = [
    async () => {},
    visitOrder,
    spend,
    withdraw,
    (order) => act(order, 'refund'),
    (order) => Promise.all([withdraw(order), act(order, 'refund')]),
    (order) => Promise.all([spend(order), withdraw(order)]),
    (order) => act(order, 'dispute'),
    (order) => act(order, 'warn').then(() => withdraw(order)),
    (order) =>
      act(order, 'warn')
        .then(() => act(order, 'dispute'))
        .then(() => act(order, 'win')),
    (order) => act(order, 'dispute').then(() => act(order, 'win')),
    (order) => Promise.all([spend(order), act(order, 'dispute')]).then(() => act(order, 'lose')),
  ];

  const pay = async (order: BuyerOrder): Promise<void> => {
    const methods = ['card', 'card', 'card', 'foreign', 'risky'] as const;
    await act(order, 'pay', methods[random.between(0, methods.length - 1)]);
    const paid = await visitOrder(order);
    // A session can have expired before it was paid.
    const hasEnded = paid.text.includes(texts.endedTitle);
    assert(order.facts.has(texts.paid) || hasEnded, textOfPage(paid));
    if (hasEnded) return;
    for (let times = random.between(0, 12); times > 0 && !order.facts.has(texts.sent); times -= 1) {
      await wait(100);
      await visitOrder(order);
    }
    await endings[random.between(0, endings.length - 1)]?.(order);
    await visitOrder(order);
  };

  const decide = async (order: BuyerOrder): Promise<void> => {
    const chance = random();
    if (chance < 0.04) return;
    if (chance < 0.08) return await act(order, 'cancel');
    if (chance < 0.14) return await act(order, 'decline');
    if (chance > 0.26) return await pay(order);
    await act(order, 'pay-later');
    if (random() < 0.6) await act(order, random() < 0.7 ? 'arrive' : 'fail');
    if (order.page !== null) await visitOrder(order);
  };

  return {
    orders,
    responses: () => counts.responses,
    cut: () => counts.cut,
    async buy() {
      while (!state.isOver) await decide(await begin());
    },
    stop: () => void (state.isOver = true),
    abandon: () => void (state.isAbandoned = true),
    call: (target, request) => persist(target, { token, ...request }),
  };
}
