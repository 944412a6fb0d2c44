<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** The balance check: the shortcode `[largesse_balance]`, and a block. A form without JavaScript; its result is never cached. */
final class Balance
{
    public static function register(): void
    {
        add_shortcode('largesse_balance', self::html(...));
        add_action('init', self::registerBlock(...));
    }

    public static function registerBlock(): void
    {
        wp_register_script('largesse-balance-block', Plugin::url('balance-block.js'), ['wp-blocks', 'wp-components', 'wp-element', 'wp-server-side-render', 'wp-block-editor'], Plugin::VERSION, true);
        register_block_type('largesse/balance', [
            'api_version' => 3,
            'title' => __('Gift card balance', 'largesse-gift-cards'),
            'description' => __('Visitors enter the code of a gift card and see its balance.', 'largesse-gift-cards'),
            'category' => 'woocommerce',
            'icon' => 'tickets-alt',
            'editor_script_handles' => ['largesse-balance-block'],
            'render_callback' => self::html(...),
        ]);
    }

    public static function html(): string
    {
        if (!Settings::isConfigured()) {
            return '';
        }
        $sent = wp_unslash($_POST); // phpcs:ignore WordPress.Security.NonceVerification.Missing -- it changes nothing.
        $code = $sent['largesse_balance_code'] ?? null;
        $result = is_string($code) ? self::resultOf($code) : '';
        return sprintf(
            '<form method="post" class="largesse-balance"><label>%s <input type="text" name="largesse_balance_code" maxlength="700" autocomplete="off" required></label> <button type="submit" class="%s">%s</button><div role="status">%s</div></form>',
            esc_html__('Code of a gift card', 'largesse-gift-cards'),
            esc_attr(Plugin::buttonClass()),
            esc_html__('Show the balance', 'largesse-gift-cards'),
            $result,
        );
    }

    private static function resultOf(string $code): string
    {
        if (!defined('DONOTCACHEPAGE')) {
            define('DONOTCACHEPAGE', true);
        }
        try {
            $card = CardLookup::byCode($code);
        } catch (Rejected $rejected) {
            return esc_html($rejected->getMessage());
        }
        if ($card['state'] !== 'active') {
            return esc_html(CardLookup::stateText($card['state']));
        }
        /* translators: %s: an amount */
        $text = wp_kses_post(sprintf(__('Balance: %s', 'largesse-gift-cards'), wc_price((float) $card['available'], ['currency' => $card['currency']])));
        if ($card['expires_on'] !== null) {
            /* translators: %s: a day */
            $text .= '<br>' . esc_html(sprintf(__('Valid until %s', 'largesse-gift-cards'), date_i18n(wc_date_format(), strtotime($card['expires_on']))));
        }
        return $text;
    }
}
