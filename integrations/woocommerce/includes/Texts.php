<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Translations. A language without a file of its country uses the file of the language: `fr_CA` has that of `fr_FR`. */
final class Texts
{
    public const DOMAIN = 'largesse-gift-cards';
    private const FILES = ['de' => 'de_DE', 'fr' => 'fr_FR', 'es' => 'es_ES'];

    public static function register(): void
    {
        add_filter('load_textdomain_mofile', self::fileOf(...), 10, 2);
        add_action('init', self::load(...), 0);
    }

    public static function load(): void
    {
        $locale = determine_locale();
        load_textdomain(self::DOMAIN, dirname(LARGESSE_FILE) . '/languages/' . self::DOMAIN . "-$locale.mo", $locale);
    }

    public static function fileOf(string $file, string $domain): string
    {
        if ($domain !== self::DOMAIN || is_readable($file)) {
            return $file;
        }
        $language = preg_match('/-([a-z]{2})(?:_[A-Za-z_]+)?\.mo$/', $file, $parts) === 1 ? $parts[1] : '';
        $known = self::FILES[$language] ?? null;
        return $known === null ? $file : dirname(LARGESSE_FILE) . '/languages/' . self::DOMAIN . "-$known.mo";
    }
}
