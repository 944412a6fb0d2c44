<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/**
 * Follows the status of an order: a paid order captures its holds, a cancelled or failed one voids them, a waiting one extends
 * them. It compares what is with what should be, so that every repetition is safe; what fails is repeated by a task.
 */
final class Settlement
{
    public const TASK = 'largesse_settle_order';
    private const RETRIES = [60, 300, 1800, 7200, 21600, 43200];

    public static function register(): void
    {
        add_action('woocommerce_order_status_changed', self::statusChanged(...), 5, 4);
        add_action('woocommerce_payment_complete', self::paid(...), 5);
        add_action('woocommerce_trash_order', self::removed(...));
        add_action('woocommerce_before_trash_order', self::removed(...));
        add_action('woocommerce_before_delete_order', self::removed(...));
        add_action(self::TASK, self::runTask(...), 10, 2);
    }

    public static function statusChanged(int $orderId, string $from, string $to, mixed $order = null): void
    {
        $cards = $order instanceof \WC_Order ? OrderCards::of($order) : OrderCards::stored($orderId);
        if ($cards === null || $cards->isEmpty() || ($from === 'checkout-draft' && $to === 'pending')) {
            return;
        }
        if (in_array($to, wc_get_is_paid_statuses(), true) && !self::retryFailed($orderId)) {
            self::later($orderId, self::RETRIES[0]);
            return;
        }
        // Staff can change hundreds of orders at once. A task repeats what fails.
        self::follow($orderId, Client::forCustomer());
    }

    /** A shop can give paid orders a status of its own, or the status they have already. */
    public static function paid(int $orderId): void
    {
        $cards = OrderCards::stored($orderId);
        $isOpen = array_filter($cards?->rows ?? [], static fn(array $row): bool => $row['state'] !== 'captured') !== [];
        if ($isOpen && !in_array($cards?->order->get_status(), wc_get_is_paid_statuses(), true)) {
            self::follow($orderId, Client::forCustomer());
        }
    }

    public static function removed(int $orderId): void
    {
        $cards = OrderCards::stored($orderId);
        if ($cards !== null && !$cards->isEmpty()) {
            self::release($orderId, Client::forStaff());
        }
    }

    public static function runTask(int $orderId, int $retry = 0): void
    {
        self::follow($orderId, Client::forTask(), $retry);
    }

    private static function wantsCapture(\WC_Order $order): bool
    {
        $status = $order->get_status();
        $isWaiting = self::wantsRelease($status) || in_array($status, ['pending', 'on-hold', 'checkout-draft'], true);
        return in_array($status, wc_get_is_paid_statuses(), true) || (!$isWaiting && $order->get_date_paid() !== null);
    }

    private static function wantsRelease(string $status): bool
    {
        return in_array($status, ['cancelled', 'failed', 'refunded', 'trash'], true);
    }

    /**
     * A status that staff set again is another try.
     *
     * @return bool false: another process works on the order
     */
    private static function retryFailed(int $orderId): bool
    {
        try {
            Lock::order($orderId, static function () use ($orderId): void {
                $cards = OrderCards::stored($orderId);
                foreach ($cards?->rows ?? [] as $index => $row) {
                    if ($row['state'] === 'failed') {
                        $cards->change($index, ['state' => 'released']);
                    }
                }
            });
            return true;
        } catch (Unreachable) {
            return false;
        }
    }

    /** Staff ask for another try, whatever the status is: what is collected stays collected. */
    public static function tryAgain(int $orderId): void
    {
        self::retryFailed($orderId);
        $order = wc_get_order($orderId);
        if ($order instanceof \WC_Order && $order->has_status('on-hold')) {
            self::collect($orderId);
            return;
        }
        self::follow($orderId, Client::forStaff());
    }

    /** Collects what an order on hold still lacks from its cards. */
    private static function collect(int $orderId): void
    {
        try {
            Lock::order($orderId, static function () use ($orderId): void {
                $cards = OrderCards::stored($orderId);
                $client = Client::forStaff();
                foreach (array_keys($cards?->rows ?? []) as $index) {
                    if ($cards->rows[$index]['state'] === 'released') {
                        Capturing::capture($cards, $index, $client);
                    }
                }
            });
        } catch (Unreachable | ServiceError $error) {
            Log::warning("Order $orderId: " . $error->getMessage());
        }
    }

    /** Brings the cards of an order to what its status asks for. Never throws. */
    public static function follow(int $orderId, Client $client, int $retry = 0): void
    {
        try {
            $failed = Lock::order($orderId, static function () use ($orderId, $client): array {
                $cards = OrderCards::stored($orderId);
                if ($cards === null) {
                    return [];
                }
                self::voidDropped($cards, $client);
                Refunding::finish($cards, $client);
                return self::followRows($cards, $client);
            });
            self::reportFailed($orderId, $failed);
        } catch (Unreachable | ServiceError $error) {
            Log::warning("Order $orderId: " . $error->getMessage());
            self::later($orderId, self::RETRIES[min($retry, count(self::RETRIES) - 1)], $retry + 1);
        }
    }

    /**
     * @return list<string> why amounts could not be collected
     * @throws ServiceError
     * @throws Unreachable
     */
    private static function followRows(OrderCards $cards, Client $client): array
    {
        $status = $cards->order->get_status();
        $failed = [];
        foreach (array_keys($cards->rows) as $index) {
            $state = $cards->rows[$index]['state'];
            if ($state === 'captured' || $state === 'failed') {
                continue;
            }
            if (self::wantsCapture($cards->order)) {
                $reason = Capturing::capture($cards, $index, $client);
                $failed = $reason === null ? $failed : [...$failed, $reason];
            } elseif (self::wantsRelease($status)) {
                self::releaseRow($cards, $index, $client);
            } elseif ($status === 'on-hold' || $status === 'pending') {
                self::keepHeld($cards, $index, $client, $status);
            }
        }
        return $failed;
    }

    /** Extends the hold of a waiting order. */
    private static function keepHeld(OrderCards $cards, int $index, Client $client, string $status): void
    {
        $row = $cards->rows[$index];
        if ($row['state'] !== 'held') {
            // A released amount is held again when the customer pays, or collected when the order is paid.
            return;
        }
        $created = $cards->order->get_date_created()?->getTimestamp() ?? 0;
        if ($status === 'pending' && $created < time() - DAY_IN_SECONDS) {
            // The customer has left: the hold ends by itself.
            return;
        }
        $seconds = $status === 'on-hold' ? Settings::orderSeconds() : 2 * HOUR_IN_SECONDS;
        try {
            self::extend($row['hold'], $seconds, $client);
        } catch (ServiceError $error) {
            if (!$error->is('hold-expired', 'hold-closed', 'not-found')) {
                throw $error;
            }
            $cards->change($index, ['state' => 'released']);
        }
    }

    /** Extends a hold, to the limit of the store at most. */
    private static function extend(int $hold, int $seconds, Client $client): void
    {
        try {
            $client->send('POST', "/holds/$hold/extend", ['expires_in' => $seconds]);
        } catch (ServiceError $error) {
            $detail = $error->problem['detail'] ?? '';
            if (!$error->is('invalid-parameter') || !is_string($detail) || preg_match('/\d{4}-\d\d-\d\dT[\d:.]+Z/', $detail, $latest) !== 1) {
                throw $error;
            }
            // The error names the latest time. Clocks can differ by some seconds.
            $left = strtotime($latest[0]) - time() - 60;
            if ($left > 0) {
                $client->send('POST', "/holds/$hold/extend", ['expires_in' => $left]);
            }
        }
    }

    private static function releaseRow(OrderCards $cards, int $index, Client $client): void
    {
        $row = $cards->rows[$index];
        if ($row['external'] === '' || $row['state'] === 'planned' || $row['state'] === 'released') {
            return;
        }
        if (self::voidHold($row['external'], $client) === 'captured') {
            // A capture whose response was lost: the order has to be refunded.
            Capturing::capture($cards, $index, $client);
            return;
        }
        $cards->change($index, ['state' => 'released']);
        Log::info("Order {$cards->order->get_id()}: the hold on gift card …{$row['last']} was voided");
    }

    /**
     * Voids a hold that may exist or still arrive. Without the hold, its external id is used up.
     *
     * @return string the status of the hold
     */
    private static function voidHold(string $external, Client $client): string
    {
        $path = '/holds/external:' . rawurlencode($external);
        try {
            return $client->send('POST', "$path/void")['hold']['status'];
        } catch (ServiceError $error) {
            if ($error->status === 404) {
                return 'voided';
            }
            if (!$error->is('hold-closed', 'hold-expired')) {
                throw $error;
            }
            return $client->send('GET', $path)['hold']['status'];
        }
    }

    /** Voids the holds that the order no longer needs. */
    public static function voidDropped(OrderCards $cards, Client $client): void
    {
        foreach ($cards->dropped as $external) {
            self::voidHold($external, $client);
            $cards->dropped = array_values(array_diff($cards->dropped, [$external]));
            $cards->save();
        }
    }

    /** Voids what an order holds, whatever its status is. Never throws. */
    public static function release(int $orderId, Client $client): void
    {
        try {
            Lock::order($orderId, static function () use ($orderId, $client): void {
                $cards = OrderCards::stored($orderId);
                if ($cards === null) {
                    return;
                }
                self::voidDropped($cards, $client);
                foreach (array_keys($cards->rows) as $index) {
                    if (in_array($cards->rows[$index]['state'], ['held', 'holding'], true)) {
                        self::releaseRow($cards, $index, $client);
                    }
                }
            });
        } catch (Unreachable | ServiceError $error) {
            Log::warning("Order $orderId: holds were not voided, they expire by themselves: " . $error->getMessage());
        }
    }

    /** Goods must not leave the shop while a part of the order is not paid. @param list<string> $reasons */
    private static function reportFailed(int $orderId, array $reasons): void
    {
        if ($reasons === []) {
            return;
        }
        $order = wc_get_order($orderId);
        if (!$order instanceof \WC_Order) {
            return;
        }
        Log::error("Order $orderId: " . implode(' ', $reasons));
        $order->update_status('on-hold', implode("\n", $reasons) . "\n");
    }

    /** Follows the order after some seconds. */
    public static function later(int $orderId, int $seconds, int $retry = 0): void
    {
        if (!as_has_scheduled_action(self::TASK, [$orderId, $retry], 'largesse')) {
            as_schedule_single_action(time() + $seconds, self::TASK, [$orderId, $retry], 'largesse');
        }
    }
}
