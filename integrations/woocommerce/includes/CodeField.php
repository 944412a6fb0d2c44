<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** The field for codes, and the cards that were entered, in the totals of the classic cart and checkout. */
final class CodeField
{
    public static function register(): void
    {
        add_action('woocommerce_cart_totals_before_order_total', self::show(...));
        add_action('woocommerce_review_order_before_order_total', self::show(...));
        add_action('wc_ajax_largesse_card', self::handle(...));
        add_action('wp_enqueue_scripts', self::enqueue(...));
    }

    public static function enqueue(): void
    {
        if (!Settings::isConfigured() || !(is_cart() || is_checkout())) {
            return;
        }
        wp_register_script('largesse-checkout', Plugin::url('checkout.js'), ['jquery'], Plugin::VERSION, true);
        wp_localize_script('largesse-checkout', 'largesseCheckout', [
            'url' => \WC_AJAX::get_endpoint('largesse_card'),
            'nonce' => wp_create_nonce('largesse_card'),
        ]);
        wp_enqueue_script('largesse-checkout');
    }

    public static function show(): void
    {
        if (!Settings::isConfigured()) {
            return;
        }
        $paid = array_column(Totals::cart()['shares'], 'units', 'card');
        foreach (SessionCards::all() as $card) {
            self::showCard($card, $paid[$card['card']] ?? 0);
        }
        $label = __('Code of a gift card', 'largesse-gift-cards');
        printf(
            '<tr class="largesse-code"><th>%1$s</th><td data-title="%2$s"><input type="text" class="input-text" id="largesse-code" aria-label="%2$s" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="700"> <button type="button" class="%4$s" data-largesse="add">%3$s</button><div class="largesse-message" role="status"></div></td></tr>',
            esc_html(Settings::title()),
            esc_attr($label),
            esc_html__('Apply', 'largesse-gift-cards'),
            esc_attr(Plugin::buttonClass()),
        );
    }

    /** @param array{card: int, last: string, available: string} $card */
    private static function showCard(array $card, int $units): void
    {
        $decimals = OrderCards::decimals();
        /* translators: %s: an amount */
        $balance = sprintf(__('Balance: %s', 'largesse-gift-cards'), wc_price((float) $card['available']));
        printf(
            '<tr class="largesse-card"><th>%1$s<br><small>%2$s</small></th><td data-title="%1$s">-%3$s <button type="button" class="button-link" data-largesse="remove" data-card="%4$d" aria-label="%5$s">%6$s</button></td></tr>',
            esc_html(Totals::label($card['last'])),
            wp_kses_post($balance),
            wp_kses_post(wc_price(Money::shopAmountOf($units, $decimals))),
            (int) $card['card'],
            /* translators: %s: the name of a gift card */
            esc_attr(sprintf(__('Remove %s', 'largesse-gift-cards'), Totals::label($card['last']))),
            esc_html__('[Remove]', 'largesse-gift-cards'),
        );
    }

    public static function handle(): void
    {
        check_ajax_referer('largesse_card', 'nonce');
        $sent = wp_unslash($_POST);
        try {
            if (($sent['do'] ?? '') === 'remove') {
                SessionCards::remove(absint($sent['card'] ?? 0));
            } else {
                SessionCards::add(is_string($sent['code'] ?? null) ? $sent['code'] : '');
            }
            WC()->cart->calculate_totals();
            wp_send_json_success();
        } catch (Rejected $rejected) {
            wp_send_json_error(['message' => $rejected->getMessage()], 422);
        }
    }
}
