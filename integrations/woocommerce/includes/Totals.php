<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/**
 * Keeps the invariant: the total of an order plus what its cards pay is its goods, tax, shipping and fees less its discounts.
 *
 * WooCommerce calculates the total of an order again and again: block checkout on each request, the administration after each
 * edit. So the cards of an order are a record of the order, and are subtracted at the end of each of these calculations.
 */
final class Totals
{
    /** @var array{gross: int, shares: list<array{card: int, last: string, units: int}>}|null of the cart */
    private static ?array $cart = null;

    public static function register(): void
    {
        // Last, so that other plugins see the amount before gift cards.
        add_filter('woocommerce_calculated_total', self::ofCart(...), PHP_INT_MAX, 2);
        add_action('woocommerce_order_after_calculate_totals', self::afterCalculation(...), PHP_INT_MAX, 2);
        add_filter('woocommerce_get_order_item_totals', self::rowsOfOrder(...), 20, 2);
        add_action('woocommerce_admin_order_totals_after_tax', self::rowsForStaff(...));
    }

    /** The amount of the cart that is left to pay. */
    public static function ofCart(mixed $total, mixed $cart): mixed
    {
        if (!function_exists('WC') || $cart !== WC()->cart) {
            // A plugin of subscriptions calculates the cart of the next payment, which has no cards.
            return $total;
        }
        $decimals = OrderCards::decimals();
        $gross = Money::unitsOfShop($total, $decimals);
        $due = $gross;
        if (!Settings::paysForCards()) {
            foreach ($cart->get_cart() as $item) {
                if (GiftCardProduct::is($item['data'] ?? null)) {
                    $due -= Money::unitsOfShop(($item['line_total'] ?? 0) + ($item['line_tax'] ?? 0), $decimals);
                }
            }
        }
        $shares = Allocation::of(max(0, $due), SessionCards::all(), $decimals);
        self::$cart = ['gross' => $gross, 'shares' => $shares];
        return $shares === [] ? $total : Money::shopAmountOf($gross - Allocation::sum($shares), $decimals);
    }

    /** @return array{gross: int, shares: list<array{card: int, last: string, units: int}>} of the last calculation of the cart */
    public static function cart(): array
    {
        return self::$cart ?? ['gross' => 0, 'shares' => []];
    }

    /** @param bool $andTaxes of WooCommerce */
    public static function afterCalculation(mixed $andTaxes, mixed $order): void
    {
        if (!$order instanceof \WC_Order) {
            return;
        }
        if (OrderCards::of($order)->rows === []) {
            return;
        }
        $cards = OrderCards::latest($order);
        $gross = Money::unitsOfShop($order->get_total('edit'), OrderCards::decimals());
        if ($cards->units() > $gross) {
            $cards = self::reduce($order, $gross);
        }
        self::setTotal($order, $gross, $cards);
    }

    /** The order costs less than its cards pay. */
    private static function reduce(\WC_Order $order, int $gross): OrderCards
    {
        $reduce = static function () use ($order, $gross): OrderCards {
            $cards = OrderCards::latest($order);
            if ($cards->reduceTo($gross)) {
                $cards->set();
                if ($order->get_id() > 0) {
                    $order->save_meta_data();
                }
            }
            return $cards;
        };
        try {
            return Lock::order($order->get_id(), $reduce);
        } catch (Unreachable) {
            // A calculation cannot fail. The comparison names what the other process and this one made different.
            return $reduce();
        }
    }

    /** Sets the total of an order, which the caller saves. */
    public static function setTotal(\WC_Order $order, int $gross, OrderCards $cards): void
    {
        $order->set_total(Money::shopAmountOf(max(0, $gross - $cards->units()), OrderCards::decimals()));
    }

    /** The amount of an order before its cards. */
    public static function grossOf(\WC_Order $order, OrderCards $cards): int
    {
        return Money::unitsOfShop($order->get_total('edit'), OrderCards::decimals()) + $cards->units();
    }

    /** The amount that cards can pay of an order. */
    public static function payableUnits(\WC_Order $order, int $gross): int
    {
        if (Settings::paysForCards()) {
            return $gross;
        }
        foreach ($order->get_items() as $item) {
            if ($item instanceof \WC_Order_Item_Product && Issuing::isGift($item)) {
                $gross -= Money::unitsOfShop((float) $item->get_total() + (float) $item->get_total_tax(), OrderCards::decimals());
            }
        }
        return max(0, $gross);
    }

    /**
     * Rows of an order in the account, on the page after the checkout and in emails.
     *
     * @param array<string, array{label: string, value: string}> $rows
     * @return array<string, array{label: string, value: string}>
     */
    public static function rowsOfOrder(array $rows, mixed $order): array
    {
        if (!$order instanceof \WC_Order) {
            return $rows;
        }
        $added = [];
        foreach (OrderCards::of($order)->paying() as $index => $row) {
            $added["largesse_$index"] = [
                'type' => 'gift_card',
                'label' => self::label($row['last']) . ':',
                'value' => '-' . wc_price((float) $row['amount'], ['currency' => $order->get_currency()]),
            ];
        }
        if ($added === []) {
            return $rows;
        }
        $place = array_search('order_total', array_keys($rows), true);
        $place = $place === false ? count($rows) : $place;
        return array_slice($rows, 0, $place, true) + $added + array_slice($rows, $place, null, true);
    }

    public static function rowsForStaff(int $orderId): void
    {
        $order = wc_get_order($orderId);
        if (!$order instanceof \WC_Order) {
            return;
        }
        foreach (OrderCards::of($order)->paying() as $row) {
            printf(
                '<tr><td class="label">%s:</td><td width="1%%"></td><td class="total">-%s</td></tr>',
                esc_html(self::label($row['last'])),
                wp_kses_post(wc_price((float) $row['amount'], ['currency' => $order->get_currency()])),
            );
        }
    }

    public static function label(string $last): string
    {
        return Settings::title() . ' …' . strtoupper($last);
    }
}
