/** Options of the payment method. */

export interface GiftCardOptions {
  /** The root of Largesse with its base path: `https://cards.example.com`. */
  url: string;
  /** An access token with the scopes `read_gift_cards` and `redeem_gift_cards`. */
  token: string;
  /** The code of the handler. Each store of Largesse, such as one for each currency, has a handler with its own code. */
  code?: string | undefined;
  /** The time that a card is held until the order is placed, in seconds. The default is two hours. */
  checkoutSeconds?: number | undefined;
  /** The time that it is held from then on, in days: at most the limit of the store. The default is 7. */
  orderDays?: number | undefined;
  /** The longest time that a customer waits for Largesse, in ms. The default is 5,000. */
  checkoutTimeoutMs?: number | undefined;
  /** The longest time that an administrator waits for Largesse, in ms. The default is 10,000. */
  adminTimeoutMs?: number | undefined;
  /** The unknown codes that a customer can enter for one order. The default is 10. */
  attemptsMax?: number | undefined;
  /** The decimals of Vendure's integers in a currency. By default, those of Vendure's MoneyStrategy, which are 2. */
  decimalsOf?: ((currency: string) => number) | undefined;
}

/** The options with their defaults. */
export type Settings = {
  [Name in Exclude<keyof GiftCardOptions, 'decimalsOf'>]-?: NonNullable<GiftCardOptions[Name]>;
} & Pick<GiftCardOptions, 'decimalsOf'>;

export function settingsOf(options: GiftCardOptions): Settings {
  return {
    url: options.url,
    token: options.token,
    code: options.code ?? 'largesse-gift-card',
    checkoutSeconds: options.checkoutSeconds ?? 7_200,
    orderDays: options.orderDays ?? 7,
    checkoutTimeoutMs: options.checkoutTimeoutMs ?? 5_000,
    adminTimeoutMs: options.adminTimeoutMs ?? 10_000,
    attemptsMax: options.attemptsMax ?? 10,
    decimalsOf: options.decimalsOf,
  };
}
