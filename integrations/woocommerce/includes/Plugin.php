<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Registers everything that the plugin does. Nothing runs before a hook. */
final class Plugin
{
    public const VERSION = '0.1.0';

    public static function start(): void
    {
        Texts::register();
        SettingsPage::register();
        Totals::register();
        Checkout::register();
        CodeField::register();
        Blocks::register();
        Settlement::register();
        OrderBox::register();
        GiftCardProduct::register();
        CartGift::register();
        Issuing::register();
        Account::register();
        Balance::register();
        Comparison::register();
        Status::register();
        Analytics::register();
    }

    /** The classes of a button: themes of blocks have one of their own. */
    public static function buttonClass(): string
    {
        return trim('button ' . wc_wp_theme_get_element_class_name('button'));
    }

    public static function url(string $asset): string
    {
        return plugins_url('assets/' . $asset, LARGESSE_FILE);
    }
}
