<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Reports of WooCommerce calculate sales from the total of an order, which is what its cards did not pay. */
final class Analytics
{
    public static function register(): void
    {
        add_filter('woocommerce_analytics_update_order_stats_data', self::addCards(...), 10, 2);
    }

    /**
     * @param array<string, mixed> $data
     * @return array<string, mixed>
     */
    public static function addCards(array $data, mixed $order): array
    {
        $decimals = OrderCards::decimals();
        $units = 0;
        if ($order instanceof \WC_Order_Refund) {
            $amounts = $order->get_meta(Refunding::REFUND_META);
            foreach (is_array($amounts) ? $amounts : [] as $amount) {
                $units -= Money::unitsOf($amount, $decimals);
            }
        } elseif ($order instanceof \WC_Order) {
            $units = OrderCards::of($order)->units();
        }
        foreach (['total_sales', 'net_total'] as $name) {
            if ($units !== 0 && isset($data[$name])) {
                $data[$name] = round((float) $data[$name] + $units / 10 ** $decimals, $decimals);
            }
        }
        return $data;
    }
}
