<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** The settings of the shop, one option. */
final class Settings
{
    public const OPTION = 'woocommerce_largesse_settings';
    /** The id of this shop in external ids, and the URL for which it was made. */
    public const SHOP_OPTION = 'largesse_shop';

    private const DEFAULTS = [
        'url' => '',
        'token' => '',
        'checkout_title' => '',
        'pays_for_cards' => 'no',
        'order_days' => '7',
    ];

    public static function get(string $name): string
    {
        $constant = 'LARGESSE_' . strtoupper($name);
        if (in_array($name, ['url', 'token'], true) && defined($constant)) {
            return (string) constant($constant);
        }
        $saved = get_option(self::OPTION, []);
        $value = is_array($saved) ? ($saved[$name] ?? null) : null;
        return is_string($value) ? $value : self::DEFAULTS[$name];
    }

    public static function url(): string
    {
        return rtrim(trim(self::get('url')), '/');
    }

    public static function isConfigured(): bool
    {
        return self::url() !== '' && trim(self::get('token')) !== '' && !self::isCopy();
    }

    /**
     * Whether the database runs under another URL than the one for which the settings were saved. A copy of the shop has
     * the same order numbers, so it would find the holds of the shop that it was copied from.
     */
    public static function isCopy(): bool
    {
        $shop = get_option(self::SHOP_OPTION, []);
        return is_array($shop) && isset($shop['url']) && $shop['url'] !== self::shopUrl();
    }

    /** Confirms that this is the shop. Another URL gets another id. */
    public static function confirmShop(): void
    {
        $shop = get_option(self::SHOP_OPTION, []);
        if (!is_array($shop) || ($shop['url'] ?? null) !== self::shopUrl()) {
            $id = strtolower(wp_generate_password(8, false));
            update_option(self::SHOP_OPTION, ['id' => $id, 'url' => self::shopUrl()]);
        }
    }

    private static function shopUrl(): string
    {
        return (string) preg_replace('#^https?://#', '', untrailingslashit((string) get_option('home')));
    }

    /** The start of all external ids of this shop. */
    public static function externalPrefix(): string
    {
        $shop = get_option(self::SHOP_OPTION, []);
        if (!is_array($shop) || !isset($shop['id'])) {
            self::confirmShop();
            $shop = get_option(self::SHOP_OPTION);
        }
        return 'woocommerce:' . $shop['id'] . ':';
    }

    public static function title(): string
    {
        $title = trim(self::get('checkout_title'));
        return $title === '' ? __('Gift card', 'largesse-gift-cards') : $title;
    }

    /** The time of a hold while an order waits for its payment, in seconds. */
    public static function orderSeconds(): int
    {
        return max(1, min(90, (int) self::get('order_days'))) * DAY_IN_SECONDS;
    }

    public static function paysForCards(): bool
    {
        return self::get('pays_for_cards') === 'yes';
    }
}
