/** An administrator of the shop, who settles, cancels and refunds. */

import assert from 'node:assert/strict';
import { graphqlClient, type GraphqlClient } from './graphql.ts';

export type ShopPayment = {
  readonly id: string;
  readonly method: string;
  readonly amount: number;
  readonly state: string;
  readonly transactionId: string | null;
  readonly errorMessage: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly refunds: readonly {
    readonly total: number;
    readonly state: string;
    readonly transactionId: string | null;
    readonly metadata: Readonly<Record<string, unknown>>;
  }[];
};

export type ShopOrder = {
  readonly id: string;
  readonly code: string;
  readonly state: string;
  readonly subTotal: number;
  readonly shipping: number;
  readonly totalWithTax: number;
  readonly taxSummary: readonly { readonly taxTotal: number }[];
  readonly payments: readonly ShopPayment[];
};

export type Change = {
  readonly __typename: string;
  readonly message?: string;
  readonly state?: string;
  readonly paymentErrorMessage?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
};

const error = '__typename ... on ErrorResult { message }';

export type Administrator = ReturnType<typeof administratorOf>;

export function administratorOf(urlOf: () => string) {
  const client: GraphqlClient = graphqlClient(() => `${urlOf()}/admin-api`);

  async function change(mutation: string, fields: string): Promise<Change> {
    const { change: result } = await client.send<{ readonly change: Change }>(
      `mutation { change: ${mutation} ${fields} }`,
    );
    return result;
  }

  return {
    async signIn(): Promise<void> {
      await client.send('mutation { login(username: "superadmin", password: "superadmin") { __typename } }');
    },
    /** The ids of variants by their stock keeping unit, and that of the shipping method. */
    async catalog(): Promise<{
      readonly variants: ReadonlyMap<string, string>;
      readonly shippingMethod: string;
    }> {
      type Items<Item> = { readonly items: readonly Item[] };
      const { productVariants, shippingMethods } = await client.send<{
        readonly productVariants: Items<{ readonly id: string; readonly sku: string }>;
        readonly shippingMethods: Items<{ readonly id: string }>;
      }>('{ productVariants { items { id sku } } shippingMethods { items { id } } }');
      const [method] = shippingMethods.items;
      assert.ok(method);
      return {
        variants: new Map(productVariants.items.map(({ sku, id }) => [sku, id])),
        shippingMethod: method.id,
      };
    },
    async order(code: string): Promise<ShopOrder> {
      const { orders } = await client.send<{ readonly orders: { readonly items: readonly ShopOrder[] } }>(
        `{ orders(options: { filter: { code: { eq: "${code}" } } }) { items {
          id code state subTotal shipping totalWithTax taxSummary { taxTotal }
          payments { id method amount state transactionId errorMessage metadata
            refunds { total state transactionId metadata } } } } }`,
      );
      return orders.items[0] ?? assert.fail(`no order ${code}`);
    },
    settles: (paymentId: string) =>
      change(
        `settlePayment(id: "${paymentId}")`,
        `{ ${error} ... on Payment { state } ... on SettlePaymentError { paymentErrorMessage } }`,
      ),
    cancels: (paymentId: string) =>
      change(
        `cancelPayment(id: "${paymentId}")`,
        `{ ${error} ... on Payment { state } ... on CancelPaymentError { paymentErrorMessage } }`,
      ),
    refunds: (paymentId: string, amount: number) =>
      change(
        `refundOrder(input: { paymentId: "${paymentId}", amount: ${amount}, lines: [], shipping: 0, adjustment: 0, reason: "Returned" })`,
        `{ ${error} ... on Refund { state metadata } }`,
      ),
    cancelsOrder: (orderId: string) =>
      change(
        `cancelOrder(input: { orderId: "${orderId}", cancelShipping: true })`,
        `{ ${error} ... on Order { state } }`,
      ),
  };
}
