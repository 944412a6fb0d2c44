<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Lets one process at a time change the cards of an order, or the count of a visitor. */
final class Lock
{
    private const SECONDS = 5;
    /** @var array<string, true> The locks of this process. */
    private static array $held = [];

    /**
     * @template T
     * @param callable(): T $body
     * @return T
     * @throws Unreachable if another process has the lock for too long
     */
    public static function order(int $orderId, callable $body): mixed
    {
        // An order that is not stored yet belongs to this process alone.
        return $orderId === 0 ? $body() : self::with((string) $orderId, $body);
    }

    /**
     * @template T
     * @param callable(): T $body
     * @return T
     * @throws Unreachable if other processes have the lock for too long
     */
    public static function visitor(string $visitor, callable $body): mixed
    {
        return self::with('visitor:' . substr($visitor, 0, 24), $body);
    }

    private static function with(string $subject, callable $body): mixed
    {
        global $wpdb;
        // At most 64 characters.
        $name = 'largesse:' . substr(hash('sha256', DB_NAME . $wpdb->prefix), 0, 12) . ':' . $subject;
        if (isset(self::$held[$name])) {
            return $body();
        }
        $got = $wpdb->get_var($wpdb->prepare('SELECT GET_LOCK(%s, %d)', $name, self::SECONDS));
        if ($got !== null && (int) $got === 0) {
            throw new Unreachable('another process has the lock of ' . $subject);
        }
        // A database without these locks returns null: external ids still make every step happen once.
        self::$held[$name] = true;
        try {
            return $body();
        } finally {
            unset(self::$held[$name]);
            if ($got !== null) {
                $wpdb->query($wpdb->prepare('DO RELEASE_LOCK(%s)', $name));
            }
        }
    }
}
