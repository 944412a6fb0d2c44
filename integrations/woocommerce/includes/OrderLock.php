<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Lets one process at a time change the cards of an order. */
final class OrderLock
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
    public static function with(int $orderId, callable $body): mixed
    {
        global $wpdb;
        $name = 'largesse:' . substr(hash('sha256', DB_NAME . $wpdb->prefix), 0, 12) . ':' . $orderId;
        // An order that is not stored yet belongs to this process alone.
        if ($orderId === 0 || isset(self::$held[$name])) {
            return $body();
        }
        $got = $wpdb->get_var($wpdb->prepare('SELECT GET_LOCK(%s, %d)', $name, self::SECONDS));
        if ($got !== null && (int) $got === 0) {
            throw new Unreachable('another process works on the order');
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
