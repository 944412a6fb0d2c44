/** Customers of the shop: one uses block checkout through the Store API, the other the classic pages. */

import assert from 'node:assert/strict';
import { control, shopUrl } from './shop.ts';

const address = {
  first_name: 'Ada',
  last_name: 'Byron',
  company: '',
  address_1: '1 Market Street',
  address_2: '',
  city: 'San Francisco',
  state: 'CA',
  postcode: '94105',
  country: 'US',
  phone: '',
};
const email = 'ada@example.com';

export type Outcome = { readonly status: number; readonly body: Record<string, unknown> };

type Cart = {
  readonly totals: { readonly total_price: string };
  readonly extensions: {
    readonly largesse: {
      readonly cards: readonly { readonly id: number; readonly amount: number; readonly available: number }[];
    };
  };
};

const productIds = new Map<string, number>();
async function productOf(sku: string): Promise<number> {
  const known = productIds.get(sku);
  if (known !== undefined) return known;
  const { id } = await control<{ id: number }>('product', { sku });
  productIds.set(sku, id);
  return id;
}

/** Block checkout. */
export class BlockCustomer {
  #cartToken = '';

  async #send(method: string, path: string, body?: object): Promise<Outcome> {
    const response = await fetch(`${shopUrl}/wp-json/wc/store/v1${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(this.#cartToken === '' ? {} : { 'cart-token': this.#cartToken }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    this.#cartToken = response.headers.get('cart-token') ?? this.#cartToken;
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  async #ok(method: string, path: string, body?: object): Promise<Cart> {
    const outcome = await this.#send(method, path, body);
    assert.ok(outcome.status < 300, `${path}: ${JSON.stringify(outcome.body).slice(0, 500)}`);
    return outcome.body as unknown as Cart;
  }

  async cart(): Promise<Cart> {
    return this.#ok('GET', '/cart');
  }

  async adds(...skus: readonly string[]): Promise<void> {
    if (this.#cartToken === '') await this.cart();
    for (const sku of skus)
      await this.#ok('POST', '/cart/add-item', { id: await productOf(sku), quantity: 1 });
    await this.#ok('POST', '/cart/update-customer', {
      billing_address: { ...address, email },
      shipping_address: address,
    });
  }

  usesCoupon(code: string): Promise<Cart> {
    return this.#ok('POST', '/cart/apply-coupon', { code });
  }

  /** Enters the code of a card. */
  enters(code: string): Promise<Outcome> {
    return this.#send('POST', '/cart/extensions', { namespace: 'largesse', data: { action: 'add', code } });
  }

  removes(card: number): Promise<Outcome> {
    return this.#send('POST', '/cart/extensions', {
      namespace: 'largesse',
      data: { action: 'remove', card },
    });
  }

  async total(): Promise<number> {
    return Number((await this.cart()).totals.total_price);
  }

  /** Opens the page of the checkout, which stores a draft of the order. */
  draft(): Promise<Outcome> {
    return this.#send('GET', '/checkout');
  }

  places(payment_method = 'largesse_test'): Promise<Outcome> {
    return this.#send('POST', '/checkout', {
      billing_address: { ...address, email },
      shipping_address: address,
      payment_method,
    });
  }

  /** Pays for an order that was placed before. */
  pays(
    { id, key }: { readonly id: number; readonly key: string },
    payment_method = 'largesse_test',
  ): Promise<Outcome> {
    return this.#send('POST', `/checkout/${id}`, {
      key,
      billing_email: email,
      billing_address: { ...address, email },
      shipping_address: address,
      payment_method,
    });
  }
}

export function orderIdOf({ status, body }: Outcome): number {
  assert.ok(status < 300, JSON.stringify(body).slice(0, 800));
  return Number(body['order_id']);
}

/** The classic pages. */
export class ClassicCustomer {
  #cookies = new Map<string, string>();

  async #fetch(
    path: string,
    form?: Readonly<Record<string, string>>,
  ): Promise<{ status: number; text: string }> {
    const response = await fetch(`${shopUrl}${path}`, {
      redirect: 'manual',
      headers: { cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      this.#cookies.set(name, value);
    }
    // The shop stores the session of the customer before the response ends.
    return { status: response.status, text: await response.text() };
  }

  async page(path: string, form?: Readonly<Record<string, string>>): Promise<string> {
    return (await this.#fetch(path, form)).text;
  }

  async adds(...skus: readonly string[]): Promise<void> {
    for (const sku of skus)
      await this.#fetch('/', { 'add-to-cart': String(await productOf(sku)), quantity: '1' });
  }

  /** Buys a gift card with these fields of its page. */
  async addsCard(fields: Readonly<Record<string, string>>): Promise<string> {
    const form = { 'add-to-cart': String(await productOf('card')), quantity: '1', ...fields };
    const page = await this.page('/product/gift-card/');
    for (const name of Object.keys(fields))
      if (name !== 'quantity') assert.ok(page.includes(`name="${name}"`), name);
    const response = await this.#fetch('/product/gift-card/', form);
    return response.status === 200 ? response.text : this.page('/classic-cart/');
  }

  async enters(code: string): Promise<Outcome> {
    const page = await this.page('/classic-checkout/');
    const [, nonce = ''] =
      /"largesseCheckout"?[^{]*\{[^}]*"nonce":"(\w+)"/.exec(
        page.replaceAll('var largesseCheckout = ', '"largesseCheckout"'),
      ) ?? [];
    const { status, text } = await this.#fetch('/?wc-ajax=largesse_card', { nonce, do: 'add', code });
    return { status, body: JSON.parse(text) as Record<string, unknown> };
  }

  async places(payment_method = 'largesse_test'): Promise<Outcome> {
    const page = await this.page('/classic-checkout/');
    const [, nonce = ''] = /name="woocommerce-process-checkout-nonce" value="(\w+)"/.exec(page) ?? [];
    const fields = Object.fromEntries(
      Object.entries({ ...address, email }).map(([name, value]) => [`billing_${name}`, value]),
    );
    const { status, text } = await this.#fetch('/?wc-ajax=checkout', {
      ...fields,
      payment_method,
      'woocommerce-process-checkout-nonce': nonce,
    });
    return { status, body: JSON.parse(text) as Record<string, unknown> };
  }

  async signsIn(name: string, password: string): Promise<void> {
    await this.#fetch('/wp-login.php', { log: name, pwd: password, testcookie: '1' });
  }
}

export function classicOrderIdOf({ body }: Outcome): number {
  assert.equal(body['result'], 'success', JSON.stringify(body).slice(0, 800));
  const [, id = ''] = /order-received[/=](\d+)/.exec(String(body['redirect'])) ?? [];
  return Number(id);
}
