<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** The part of the page WooCommerce → Status about gift cards: the connection, and the differences of the last comparison. */
final class Status
{
    public static function register(): void
    {
        add_action('woocommerce_system_status_report', self::show(...));
        add_filter('woocommerce_debug_tools', self::addTool(...));
        add_action('admin_notices', self::notice(...));
    }

    /**
     * @param array<string, array<string, mixed>> $tools
     * @return array<string, array<string, mixed>>
     */
    public static function addTool(array $tools): array
    {
        $tools['largesse_compare'] = [
            'name' => __('Compare orders and gift cards', 'largesse-gift-cards'),
            'button' => __('Compare', 'largesse-gift-cards'),
            'desc' => __('Compares the orders of the last days with Largesse, as every night. The status page shows the differences.', 'largesse-gift-cards'),
            'callback' => static function (): string {
                Comparison::run();
                return __('Orders and gift cards were compared.', 'largesse-gift-cards');
            },
        ];
        return $tools;
    }

    public static function notice(): void
    {
        if (current_user_can('manage_woocommerce') && Settings::isCopy()) {
            echo '<div class="notice notice-warning"><p>', esc_html__('The URL of this shop has changed, so gift cards are switched off: a copy must not use the cards of the shop it was copied from. If this is the shop, save the settings of Largesse again.', 'largesse-gift-cards'), '</p></div>';
        }
    }

    public static function show(): void
    {
        $saved = get_option(Comparison::RESULT);
        $result = is_array($saved) ? $saved : ['at' => 0, 'orders' => 0, 'holds' => 0, 'differences' => [], 'error' => ''];
        $at = $result['at'] === 0 ? __('never', 'largesse-gift-cards') : wp_date('Y-m-d H:i', $result['at']);
        /* translators: 1: a time, 2: a number of orders, 3: a number of reserved amounts */
        $compared = sprintf(__('%1$s: %2$d orders, %3$d reserved amounts', 'largesse-gift-cards'), $at, $result['orders'], $result['holds']);
        $state = match (true) {
            !Settings::isConfigured() => __('not connected', 'largesse-gift-cards'),
            Circuit::isOpen() => __('Largesse does not respond', 'largesse-gift-cards'),
            default => __('connected', 'largesse-gift-cards'),
        };
        echo '<table class="wc_status_table widefat" id="largesse-status"><thead><tr><th colspan="3"><h2>', esc_html__('Gift cards (Largesse)', 'largesse-gift-cards'), '</h2></th></tr></thead><tbody>';
        self::row(__('Connection', 'largesse-gift-cards'), $state);
        self::row(__('Last comparison', 'largesse-gift-cards'), $compared . ($result['error'] === '' ? '' : " ({$result['error']})"));
        self::row(__('Differences', 'largesse-gift-cards'), (string) count($result['differences']));
        foreach ($result['differences'] as $difference) {
            $order = wc_get_order($difference['order']);
            $name = '#' . ($order instanceof \WC_Order ? $order->get_order_number() : $difference['order']);
            self::row($name, $difference['text'], $order instanceof \WC_Order ? $order->get_edit_order_url() : '');
        }
        echo '</tbody></table>';
    }

    private static function row(string $name, string $text, string $url = ''): void
    {
        $label = $url === '' ? esc_html($name) : sprintf('<a href="%s">%s</a>', esc_url($url), esc_html($name));
        printf('<tr><td data-export-label="%s">%s</td><td class="help"></td><td>%s</td></tr>', esc_attr($name), $label, esc_html($text)); // phpcs:ignore WordPress.Security.EscapeOutput
    }
}
