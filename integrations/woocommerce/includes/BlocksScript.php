<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

use Automattic\WooCommerce\Blocks\Integrations\IntegrationInterface;

defined('ABSPATH') || exit;

/** The script of the field in the blocks. */
final class BlocksScript implements IntegrationInterface
{
    public function get_name(): string
    {
        return 'largesse';
    }

    public function initialize(): void
    {
        $depends = ['wc-blocks-checkout', 'wc-price-format', 'wc-settings', 'wp-element', 'wp-plugins'];
        wp_register_script('largesse-blocks', Plugin::url('checkout-block.js'), $depends, Plugin::VERSION, true);
    }

    public function get_script_handles(): array
    {
        return ['largesse-blocks'];
    }

    public function get_editor_script_handles(): array
    {
        return ['largesse-blocks'];
    }

    /** The texts of the script, in the language of the page. */
    public function get_script_data(): array
    {
        return [
            'isConfigured' => Settings::isConfigured(),
            'title' => Settings::title(),
            'code' => __('Code of a gift card', 'largesse-gift-cards'),
            'apply' => __('Apply', 'largesse-gift-cards'),
            'remove' => __('Remove', 'largesse-gift-cards'),
            /* translators: %s: an amount */
            'balance' => __('Balance: %s', 'largesse-gift-cards'),
            'failed' => CardLookup::unavailable(),
        ];
    }
}
