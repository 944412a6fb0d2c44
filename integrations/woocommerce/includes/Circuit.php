<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Stops the requests of customers for a while after several failures, so that a frozen service delays only a few of them. */
final class Circuit
{
    private const NAME = 'largesse_circuit';
    private const FAILURES_MAX = 3;
    private const OPEN_SECONDS = 30;

    public static function isOpen(): bool
    {
        $state = get_transient(self::NAME);
        return is_array($state) && $state['until'] > time();
    }

    public static function failed(): void
    {
        $state = get_transient(self::NAME);
        $failures = (is_array($state) ? $state['failures'] : 0) + 1;
        $until = $failures >= self::FAILURES_MAX ? time() + self::OPEN_SECONDS : 0;
        // One more failure after the pause opens it again.
        $kept = min($failures, self::FAILURES_MAX);
        set_transient(self::NAME, ['failures' => $kept, 'until' => $until], 10 * MINUTE_IN_SECONDS);
    }

    public static function worked(): void
    {
        if (get_transient(self::NAME) !== false) {
            delete_transient(self::NAME);
        }
    }
}
