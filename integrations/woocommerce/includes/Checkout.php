<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

use Automattic\WooCommerce\StoreApi\Exceptions\RouteException;

defined('ABSPATH') || exit;

/** Puts the cards of the session on the order, and holds what they pay before the payment begins. */
final class Checkout
{
    public static function register(): void
    {
        // The order of the classic checkout has the totals of the cart; that of block checkout has totals of its own.
        add_action('woocommerce_checkout_create_order', self::planClassic(...), PHP_INT_MAX);
        add_action('woocommerce_store_api_checkout_update_order_meta', self::planBlock(...), PHP_INT_MAX);
        // Both run when the order is stored, before a gateway is asked for its money.
        add_action('woocommerce_checkout_order_processed', self::holdClassic(...), 1, 3);
        add_action('woocommerce_store_api_checkout_order_processed', self::holdBlock(...), 1);
        add_action('woocommerce_before_pay_action', self::holdForPayPage(...), 1);
        add_action('woocommerce_cart_emptied', SessionCards::clear(...));
    }

    public static function planClassic(\WC_Order $order): void
    {
        $cart = Totals::cart();
        if ($cart['shares'] === [] && OrderCards::of($order)->rows === []) {
            return;
        }
        self::plan($order, static fn(OrderCards $cards): array => [$cart['gross'], $cart['shares']]);
    }

    /** @throws RouteException with a text for the customer */
    public static function planBlock(\WC_Order $order): void
    {
        $session = SessionCards::all();
        if ($session === [] && OrderCards::of($order)->rows === []) {
            return;
        }
        try {
            self::plan($order, static function (OrderCards $cards) use ($order, $session): array {
                $gross = Totals::grossOf($order, $cards);
                $due = Totals::payableUnits($order, $gross);
                return [$gross, Allocation::of($due, $session, OrderCards::decimals())];
            });
        } catch (Rejected $rejected) {
            throw new RouteException('largesse_gift_card', esc_html($rejected->getMessage()), 409);
        }
        $order->save();
    }

    /**
     * Stores what each card will pay. Another request for the same order can hold it at this moment.
     *
     * @param callable(OrderCards): array{int, list<array{card: int, last: string, units: int}>} $shares the amount before cards, and the shares
     * @throws Rejected if another request works on the order for too long
     */
    private static function plan(\WC_Order $order, callable $shares): void
    {
        $plan = static function () use ($order, $shares): void {
            $cards = OrderCards::latest($order);
            [$gross, $planned] = $shares($cards);
            $cards->plan($planned);
            $cards->set();
            if ($order->get_id() > 0) {
                $order->save_meta_data();
            }
            Totals::setTotal($order, $gross, $cards);
        };
        try {
            Lock::order($order->get_id(), $plan);
        } catch (Unreachable) {
            throw new Rejected(CardLookup::unavailable());
        }
    }

    /** @throws \Exception with a text for the customer */
    public static function holdClassic(int $orderId, mixed $posted = null, mixed $order = null): void
    {
        try {
            self::hold($orderId);
        } catch (Rejected $rejected) {
            WC()->session?->set('refresh_totals', true);
            // The next try uses this order again, if the cart is still the same.
            WC()->session?->set('order_awaiting_payment', $orderId);
            WC()->cart->calculate_totals();
            throw $rejected;
        }
        if ($order instanceof \WC_Order) {
            self::nameMethod($order);
        }
    }

    /** @throws RouteException with a text for the customer */
    public static function holdBlock(\WC_Order $order): void
    {
        try {
            self::hold($order->get_id());
        } catch (Rejected $rejected) {
            if (WC()->cart !== null) {
                WC()->cart->calculate_totals();
            }
            // With this status the response has the cart, so the page shows the new total.
            throw new RouteException('largesse_gift_card', esc_html($rejected->getMessage()), 409);
        }
        self::nameMethod($order);
    }

    public static function holdForPayPage(\WC_Order $order): void
    {
        try {
            self::hold($order->get_id());
        } catch (Rejected $rejected) {
            // WooCommerce does not ask the gateway after an error.
            wc_add_notice($rejected->getMessage(), 'error');
        }
    }

    /** @throws Rejected */
    private static function hold(int $orderId): void
    {
        $client = Client::forCustomer();
        self::releaseEarlierOrder($orderId, $client);
        $cards = OrderCards::stored($orderId);
        if ($cards === null || $cards->isEmpty()) {
            return;
        }
        SessionCards::setWaitingOrder($orderId);
        Holding::hold($orderId, $client);
    }

    /** A customer who changes the cart after a failed payment gets another order. The earlier one would keep its holds. */
    private static function releaseEarlierOrder(int $orderId, Client $client): void
    {
        $earlier = SessionCards::waitingOrderId();
        if ($earlier === 0 || $earlier === $orderId) {
            return;
        }
        $order = wc_get_order($earlier);
        if ($order instanceof \WC_Order && $order->has_status(['pending', 'failed', 'checkout-draft'])) {
            Settlement::release($earlier, $client);
        }
        SessionCards::setWaitingOrder(0);
    }

    /** An order that cards pay completely has no gateway, so it gets a name for its payment. */
    private static function nameMethod(\WC_Order $order): void
    {
        if ((float) $order->get_total('edit') === 0.0 && OrderCards::of($order)->rows !== []) {
            $order->set_payment_method('');
            $order->set_payment_method_title(Settings::title());
            $order->save();
        }
    }
}
