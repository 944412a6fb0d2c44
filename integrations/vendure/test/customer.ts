/** A customer in the shop, who fills a cart and pays. */

import assert from 'node:assert/strict';
import { graphqlClient, type GraphqlClient } from './graphql.ts';
import type { Shop } from './shop.ts';

export type Outcome = {
  readonly __typename: string;
  readonly state?: string;
  readonly message?: string;
  readonly paymentErrorMessage?: string;
};

export class Customer {
  readonly #client: GraphqlClient;
  readonly #shop: Shop;
  code = '';

  constructor(shop: Shop) {
    this.#shop = shop;
    this.#client = graphqlClient(() => `${shop.url}/shop-api`);
  }

  /** Fills the cart, and goes to the payment. */
  async orders(roses: number, tulips = 0): Promise<void> {
    for (const [variant, quantity] of [
      ['ROSE', roses],
      ['TULIP', tulips],
    ] as const)
      if (quantity > 0)
        await this.#does(
          'addItemToOrder',
          `addItemToOrder(productVariantId: "${this.#shop.catalog.variants.get(variant)}", quantity: ${quantity})`,
        );
    const email = `c${Math.random().toString(36).slice(2)}@example.com`;
    await this.#does(
      'customer',
      `setCustomerForOrder(input: { firstName: "Ada", lastName: "Byron", emailAddress: "${email}" })`,
    );
    await this.#does(
      'address',
      'setOrderShippingAddress(input: { streetLine1: "Weg 1", countryCode: "DE" })',
    );
    await this.#does(
      'shipping',
      `setOrderShippingMethod(shippingMethodId: ["${this.#shop.catalog.shippingMethod}"])`,
    );
    const { code } = await this.#does('payment', 'transitionOrderToState(state: "ArrangingPayment")');
    this.code = code ?? assert.fail();
  }

  /** Sends a gift card to the checkout. @throws Error if the server ended. */
  async paysWithGiftCard(code: unknown): Promise<Outcome> {
    return await this.#pays('gift-card', { code });
  }

  async paysWithBankCard(): Promise<Outcome> {
    return await this.#pays('bank-card', {});
  }

  /** The payments of the order, as a storefront sees them. */
  async payments(): Promise<unknown> {
    const { orderByCode } = await this.#client.send<{ readonly orderByCode: { readonly payments: unknown } }>(
      `query { orderByCode(code: "${this.code}") { payments { method amount state transactionId errorMessage metadata } } }`,
    );
    return orderByCode.payments;
  }

  async #pays(method: string, metadata: object): Promise<Outcome> {
    const { addPaymentToOrder } = await this.#client.send<{ readonly addPaymentToOrder: Outcome }>(
      `mutation Pay($input: PaymentInput!) { addPaymentToOrder(input: $input) {
        __typename ... on Order { state } ... on ErrorResult { message }
        ... on PaymentDeclinedError { paymentErrorMessage } ... on PaymentFailedError { paymentErrorMessage } } }`,
      { input: { method, metadata } },
    );
    return addPaymentToOrder;
  }

  async #does(what: string, mutation: string): Promise<{ readonly code?: string }> {
    const { done } = await this.#client.send<{
      readonly done: { readonly __typename: string; readonly code?: string; readonly message?: string };
    }>(`mutation { done: ${mutation} { __typename ... on Order { code } ... on ErrorResult { message } } }`);
    assert.equal(done.__typename, 'Order', `${what}: ${done.message}`);
    return done;
  }
}
