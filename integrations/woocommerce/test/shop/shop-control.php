<?php
/**
 * Plugin Name: Control of the test shop
 *
 * For the HTTP test only: a gateway of another plugin that succeeds, fails or waits as the test asks, and operations that the
 * test needs. It accepts requests only on 127.0.0.1.
 */

declare(strict_types=1);

defined('ABSPATH') || exit;

/** A gateway that takes the total of the order, as gateways of other plugins do. */
add_filter('woocommerce_payment_gateways', static function (array $gateways): array {
    if (!class_exists('Largesse_Test_Gateway')) {
        class Largesse_Test_Gateway extends WC_Payment_Gateway
        {
            public function __construct()
            {
                $this->id = 'largesse_test';
                $this->title = 'Third party';
                $this->method_title = 'Third party';
                $this->has_fields = false;
                $this->enabled = 'yes';
                $this->supports = ['products', 'refunds'];
            }

            public function process_payment($orderId)
            {
                $order = wc_get_order($orderId);
                $mode = get_option('largesse_test_gateway', 'pay');
                if ($mode === 'pay') {
                    largesse_test_charge($order);
                }
                if ($mode === 'decline') {
                    throw new Exception('The payment was declined.');
                }
                if ($mode === 'fail') {
                    $order->update_status('failed');
                    throw new Exception('The payment failed.');
                }
                if ($mode === 'pay') {
                    $order->payment_complete('test-' . $orderId);
                    WC()->cart?->empty_cart();
                } elseif ($mode === 'hold') {
                    $order->update_status('on-hold');
                    WC()->cart?->empty_cart();
                }
                // In mode `redirect` the order stays pending until the gateway reports later.
                return ['result' => 'success', 'redirect' => $this->get_return_url($order)];
            }

            public function process_refund($orderId, $amount = null, $reason = '')
            {
                $charges = get_option('largesse_test_refunds', []);
                update_option('largesse_test_refunds', [...$charges, ['order' => $orderId, 'amount' => (string) $amount]]);
                return true;
            }
        }
    }
    return [...$gateways, 'Largesse_Test_Gateway'];
});

function largesse_test_charge(WC_Order $order): void
{
    $charges = get_option('largesse_test_charges', []);
    update_option('largesse_test_charges', [...$charges, ['order' => $order->get_id(), 'amount' => (string) $order->get_total()]]);
}

add_action('woocommerce_blocks_payment_method_type_registration', static function ($registry): void {
    $registry->register(new class extends \Automattic\WooCommerce\Blocks\Payments\Integrations\AbstractPaymentMethodType {
        protected $name = 'largesse_test';

        public function initialize()
        {
        }

        public function is_active()
        {
            return true;
        }

        public function get_payment_method_script_handles()
        {
            return [];
        }
    });
});

/** Products, taxes, shipping and coupons. Runs once, from the command line. */
function largesse_test_prepare_shop(): void
{
    foreach ([
        'woocommerce_currency' => 'USD',
        'woocommerce_default_country' => 'US:CA',
        'woocommerce_calc_taxes' => 'yes',
        'woocommerce_coming_soon' => 'no',
        'woocommerce_enable_guest_checkout' => 'yes',
        'woocommerce_onboarding_profile' => ['skipped' => true],
        'woocommerce_cod_settings' => ['enabled' => 'yes', 'title' => 'Cash on delivery'],
        'woocommerce_bacs_settings' => ['enabled' => 'yes', 'title' => 'Bank transfer'],
    ] as $name => $value) {
        update_option($name, $value);
    }
    WC_Tax::_insert_tax_rate(['tax_rate_country' => 'US', 'tax_rate_state' => '', 'tax_rate' => '8.2500', 'tax_rate_name' => 'Tax', 'tax_rate_priority' => 1, 'tax_rate_shipping' => 1, 'tax_rate_class' => '']);
    $zone = new WC_Shipping_Zone();
    $zone->set_zone_name('US');
    $zone->add_location('US', 'country');
    $zone->save();
    $method = $zone->add_shipping_method('flat_rate');
    update_option('woocommerce_flat_rate_' . $method . '_settings', ['title' => 'Flat rate', 'cost' => '4.95', 'tax_status' => 'taxable']);
    foreach (['lamp' => '19.99', 'table' => '149.90', 'pin' => '0.37'] as $sku => $price) {
        $product = new WC_Product_Simple();
        $product->set_name(ucfirst($sku));
        $product->set_sku($sku);
        $product->set_regular_price($price);
        // WooCommerce cannot reserve the stock of an order twice in one second, which only a test does.
        if ($sku === 'pin') {
            $product->set_manage_stock(true);
            $product->set_stock_quantity(100000);
        }
        $product->save();
    }
    $card = new \Largesse\WooCommerce\GiftCardProduct();
    $card->set_name('Gift card');
    $card->set_sku('card');
    $card->saveAmounts(['25', '50'], '10', '200');
    $card->save();
    foreach (['TEN' => ['percent', '10'], 'FIVE' => ['fixed_cart', '5.01']] as $code => [$type, $amount]) {
        $coupon = new WC_Coupon();
        $coupon->set_code($code);
        $coupon->set_discount_type($type);
        $coupon->set_amount($amount);
        $coupon->save();
    }
    // The classic cart and checkout have pages of their own.
    wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_name' => 'classic-cart', 'post_title' => 'Classic cart', 'post_content' => '[woocommerce_cart]']);
    wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_name' => 'classic-checkout', 'post_title' => 'Classic checkout', 'post_content' => '[woocommerce_checkout]']);
    wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_name' => 'balance', 'post_title' => 'Balance', 'post_content' => '[largesse_balance]']);
}

/** @return array<string, mixed> what the test compares */
function largesse_test_order(int $id): array
{
    $order = wc_get_order($id);
    $order->read_meta_data(true);
    $items = 0.0;
    foreach ($order->get_items(['line_item', 'fee', 'shipping']) as $item) {
        $items += round((float) $item->get_total(), 2);
    }
    $issued = [];
    foreach ($order->get_items() as $item) {
        $issued = [...$issued, ...array_values((array) ($item->get_meta('_largesse_issued') ?: []))];
    }
    $notes = array_map(static fn($note): string => $note->content, wc_get_order_notes(['order_id' => $id]));
    return [
        'id' => $id,
        'number' => $order->get_order_number(),
        'key' => $order->get_order_key(),
        'status' => $order->get_status(),
        'total' => number_format((float) $order->get_total('edit'), 2, '.', ''),
        'goods' => number_format($items + (float) $order->get_total_tax(), 2, '.', ''),
        'refunded' => number_format((float) $order->get_total_refunded(), 2, '.', ''),
        'refunds' => array_map(static fn($refund) => ['id' => $refund->get_id(), 'amount' => $refund->get_amount(), 'cards' => $refund->get_meta('_largesse_cards_refund') ?: null], $order->get_refunds()),
        'method' => $order->get_payment_method_title(),
        'items' => array_map(static fn($item) => ['id' => $item->get_id(), 'name' => $item->get_name()], array_values($order->get_items(['line_item', 'shipping']))),
        'cards' => $order->get_meta('_largesse_cards') ?: null,
        'issued' => $issued,
        'notes' => $notes,
    ];
}

add_action('rest_api_init', static function (): void {
    $operations = [
        'options' => static function (array $in): array {
            foreach ($in as $name => $value) {
                update_option($name, $value);
            }
            if (isset($in['woocommerce_largesse_settings'])) {
                \Largesse\WooCommerce\Settings::confirmShop();
            }
            delete_transient('largesse_circuit');
            return [];
        },
        'read' => static fn(array $in): array => ['value' => get_option($in['name'])],
        'order' => static fn(array $in): array => largesse_test_order((int) $in['id']),
        'status' => static function (array $in): array {
            wc_get_order($in['id'])->update_status($in['status']);
            return largesse_test_order((int) $in['id']);
        },
        'pay' => static function (array $in): array {
            largesse_test_charge(wc_get_order($in['id']));
            wc_get_order($in['id'])->payment_complete('later');
            return largesse_test_order((int) $in['id']);
        },
        'recalculate' => static function (array $in): array {
            wc_get_order($in['id'])->calculate_totals();
            return largesse_test_order((int) $in['id']);
        },
        'recalculateCoupons' => static function (array $in): array {
            wc_get_order($in['id'])->recalculate_coupons();
            return largesse_test_order((int) $in['id']);
        },
        'addItem' => static function (array $in): array {
            $order = wc_get_order($in['id']);
            $order->add_product(wc_get_product(wc_get_product_id_by_sku($in['sku'])), 1);
            $order->calculate_totals();
            return largesse_test_order((int) $in['id']);
        },
        'removeItem' => static function (array $in): array {
            $order = wc_get_order($in['id']);
            $order->remove_item($in['item']);
            $order->save();
            wc_get_order($in['id'])->calculate_totals();
            return largesse_test_order((int) $in['id']);
        },
        'trash' => static function (array $in): array {
            wc_get_order($in['id'])->delete(false);
            return largesse_test_order((int) $in['id']);
        },
        'delete' => static function (array $in): array {
            wc_get_order($in['id'])->delete(true);
            return [];
        },
        'refundMoney' => static function (array $in): array {
            $refund = wc_create_refund(['order_id' => $in['id'], 'amount' => $in['amount'], 'refund_payment' => true]);
            return ['error' => is_wp_error($refund) ? $refund->get_error_message() : null] + largesse_test_order((int) $in['id']);
        },
        'refund' => static function (array $in): array {
            try {
                \Largesse\WooCommerce\Refunding::refund((int) $in['id'], ['cards' => (array) $in['cards'], 'other' => (int) $in['other'], 'items' => (array) ($in['items'] ?? []), 'gateway' => true, 'restock' => true, 'reason' => 'test']);
            } catch (\Largesse\WooCommerce\Rejected $rejected) {
                return ['error' => $rejected->getMessage()] + largesse_test_order((int) $in['id']);
            }
            return ['error' => null] + largesse_test_order((int) $in['id']);
        },
        'remove' => static function (array $in): array {
            (new ReflectionMethod(\Largesse\WooCommerce\OrderBox::class, 'remove'))->invoke(null, (int) $in['id'], (int) $in['card']);
            return largesse_test_order((int) $in['id']);
        },
        'forgetVisitors' => static function (): array {
            global $wpdb;
            $wpdb->query("DELETE FROM $wpdb->options WHERE option_name LIKE '%largesse_unknown_%'");
            wp_cache_flush();
            return [];
        },
        'erase' => static function (array $in): array {
            WC_Privacy_Erasers::remove_order_personal_data(wc_get_order($in['id']));
            $found = [];
            foreach (wc_get_order($in['id'])->get_items() as $item) {
                $text = serialize(array_map(static fn($meta): array => $meta->get_data(), $item->get_meta_data()));
                $found = [...$found, ...array_values(array_filter(['Grace', 'grace@', 'For you', 'Ada'], static fn(string $word): bool => str_contains($text, $word)))];
            }
            return ['found' => $found];
        },
        'uninstall' => static function (): array {
            define('WP_UNINSTALL_PLUGIN', 'largesse-gift-cards/largesse-gift-cards.php');
            require WP_PLUGIN_DIR . '/largesse-gift-cards/uninstall.php';
            return ['left' => get_option('woocommerce_largesse_settings') !== false];
        },
        'search' => static function (array $in): array {
            global $wpdb;
            $found = [];
            $look = static function (string $place, string $content) use (&$found, $in): void {
                foreach ($in['texts'] as $text) {
                    if (stripos($content, $text) !== false) {
                        $found[] = "$place: " . substr($text, 0, 4);
                    }
                }
            };
            foreach ($wpdb->get_col('SHOW TABLES') as $table) {
                for ($start = 0; ; $start += 2000) {
                    $rows = $wpdb->get_results("SELECT * FROM `$table` LIMIT $start, 2000", ARRAY_N);
                    $look($table, implode("\n", array_map(static fn(array $row): string => implode("\t", array_map(strval(...), $row)), $rows)));
                    if (count($rows) < 2000) {
                        break;
                    }
                }
            }
            foreach (glob(WP_CONTENT_DIR . '/uploads/wc-logs/*') as $file) {
                $look(basename($file), (string) file_get_contents($file));
            }
            return ['found' => $found];
        },
        'deactivate' => static function (): array {
            require_once ABSPATH . 'wp-admin/includes/plugin.php';
            deactivate_plugins('largesse-gift-cards/largesse-gift-cards.php');
            return [];
        },
        'activate' => static function (): array {
            require_once ABSPATH . 'wp-admin/includes/plugin.php';
            return ['error' => activate_plugin('largesse-gift-cards/largesse-gift-cards.php')];
        },
        'flush' => static function (): array {
            flush_rewrite_rules();
            return [];
        },
        'tasks' => static function (): array {
            // Everything that is scheduled once.
            $done = 0;
            for ($round = 0; $round < 5; $round += 1) {
                $ids = as_get_scheduled_actions(['group' => 'largesse', 'status' => 'pending', 'per_page' => 100], 'ids');
                foreach ($ids as $id) {
                    $action = ActionScheduler::store()->fetch_action((string) $id);
                    if (!$action->get_schedule()->is_recurring()) {
                        ActionScheduler::runner()->process_action((int) $id);
                        $done += 1;
                    }
                }
            }
            return ['done' => $done];
        },
        'hook' => static function (array $in): array {
            do_action($in['name']);
            return [];
        },
        'orders' => static fn(): array => ['ids' => wc_get_orders(['limit' => -1, 'return' => 'ids', 'status' => ['any', 'checkout-draft', 'trash']])],
        'product' => static fn(array $in): array => ['id' => wc_get_product_id_by_sku($in['sku'])],
        'storage' => static function (array $in): array {
            update_option('woocommerce_feature_custom_order_tables_enabled', 'yes');
            if ($in['hpos']) {
                wc_get_container()->get(\Automattic\WooCommerce\Internal\DataStores\Orders\DataSynchronizer::class)->create_database_tables();
            }
            // WooCommerce rejects the change while it has orders in only one place; the test looks only at its own.
            global $wpdb;
            $wpdb->update($wpdb->options, ['option_value' => $in['hpos'] ? 'yes' : 'no'], ['option_name' => 'woocommerce_custom_orders_table_enabled']);
            wp_cache_flush();
            return ['hpos' => \Automattic\WooCommerce\Utilities\OrderUtil::custom_orders_table_usage_is_enabled()];
        },
        'problems' => static fn(): array => ['problems' => \Largesse\WooCommerce\SettingsPage::problems()],
    ];
    register_rest_route('largesse-test', '/(?P<operation>[A-Za-z]+)', [
        'methods' => 'POST',
        'permission_callback' => static fn(): bool => ($_SERVER['REMOTE_ADDR'] ?? '') === '127.0.0.1',
        'callback' => static function (WP_REST_Request $request) use ($operations): array {
            wp_set_current_user(1);
            return $operations[$request['operation']]((array) $request->get_json_params());
        },
    ]);
});
