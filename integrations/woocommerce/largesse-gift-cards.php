<?php
/**
 * Plugin Name: Largesse gift cards for WooCommerce
 * Description: Customers pay with gift cards of Largesse, and buy them as products. Orders hold, capture, void and refund.
 * Version: 0.1.0
 * Requires at least: 6.9
 * Requires PHP: 8.1
 * Requires Plugins: woocommerce
 * WC requires at least: 10.0
 * Author: Largesse
 * License: GPL-2.0-or-later
 * License URI: https://www.gnu.org/licenses/old-licenses/gpl-2.0.html
 * Text Domain: largesse-gift-cards
 * Domain Path: /languages
 */

declare(strict_types=1);

defined('ABSPATH') || exit;

define('LARGESSE_FILE', __FILE__);

spl_autoload_register(static function (string $class): void {
    $prefix = 'Largesse\\WooCommerce\\';
    if (str_starts_with($class, $prefix)) {
        $file = __DIR__ . '/includes/' . substr($class, strlen($prefix)) . '.php';
        if (is_file($file)) {
            require $file;
        }
    }
});

add_action('before_woocommerce_init', static function (): void {
    $features = \Automattic\WooCommerce\Utilities\FeaturesUtil::class;
    $features::declare_compatibility('custom_order_tables', __FILE__, true);
    $features::declare_compatibility('cart_checkout_blocks', __FILE__, true);
});

add_action('plugins_loaded', static function (): void {
    if (defined('WC_VERSION')) {
        \Largesse\WooCommerce\Plugin::start();
    }
});

// Steps that were scheduled when the plugin was deactivated are lost: the comparison repeats them.
register_activation_hook(__FILE__, static function (): void {
    if (function_exists('as_schedule_single_action')) {
        as_schedule_single_action(time() + 60, \Largesse\WooCommerce\Comparison::TASK, [], 'largesse');
    }
});

register_deactivation_hook(__FILE__, static function (): void {
    // The address of the page of the account is added again when the plugin is active again.
    delete_option('largesse_rules');
    if (function_exists('as_unschedule_all_actions')) {
        as_unschedule_all_actions('', [], 'largesse');
    }
});
