<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** The log of WooCommerce with the source `largesse`. It has ids and last characters of cards, never codes. */
final class Log
{
    public static function info(string $message): void
    {
        wc_get_logger()->info($message, ['source' => 'largesse']);
    }

    public static function warning(string $message): void
    {
        wc_get_logger()->warning($message, ['source' => 'largesse']);
    }

    public static function error(string $message): void
    {
        wc_get_logger()->error($message, ['source' => 'largesse']);
    }
}
