<?php

/**
 * Removes the settings and tasks. The fields of orders stay: they say what gift cards paid, and the totals and notes of
 * WooCommerce stay as they are. They contain no codes.
 */

declare(strict_types=1);

defined('WP_UNINSTALL_PLUGIN') || exit;

foreach (['woocommerce_largesse_settings', 'largesse_shop', 'largesse_comparison', 'largesse_rules'] as $name) {
    delete_option($name);
}
delete_transient('largesse_circuit');
delete_metadata('user', 0, 'largesse_cards', '', true);
if (function_exists('as_unschedule_all_actions')) {
    as_unschedule_all_actions('', [], 'largesse');
}
