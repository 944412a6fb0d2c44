<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Compares the orders of the last days with the holds, transactions and gift cards of Largesse every night, and extends holds every hour. */
final class Comparison
{
    public const RESULT = 'largesse_comparison';
    public const TASK = 'largesse_compare';
    private const HOURLY = 'largesse_extend_holds';
    private const DAYS = 3;
    private const PAGES_MAX = 100;

    public static function register(): void
    {
        add_action('action_scheduler_init', self::schedule(...));
        add_action(self::TASK, self::run(...));
        add_action(self::HOURLY, self::extend(...));
    }

    public static function schedule(): void
    {
        if (!is_admin() && !wp_doing_cron()) {
            return;
        }
        if (!as_has_scheduled_action(self::TASK, null, 'largesse')) {
            as_schedule_recurring_action(strtotime('tomorrow 3:10'), DAY_IN_SECONDS, self::TASK, [], 'largesse');
        }
        if (!as_has_scheduled_action(self::HOURLY, null, 'largesse')) {
            as_schedule_recurring_action(time() + 600, HOUR_IN_SECONDS, self::HOURLY, [], 'largesse');
        }
    }

    /**
     * @param array<string, mixed> $query
     * @return \Generator<\WC_Order>
     */
    private static function orders(string $field, array $query): \Generator
    {
        $known = ['type' => 'shop_order', 'limit' => 100, 'orderby' => 'ID', 'order' => 'ASC', 'meta_key' => $field, 'meta_compare' => 'EXISTS'];
        for ($page = 1; $page <= self::PAGES_MAX; $page += 1) {
            $orders = wc_get_orders($query + $known + ['paged' => $page]);
            foreach ($orders as $order) {
                if ($order instanceof \WC_Order) {
                    yield $order;
                }
            }
            if (count($orders) < 100) {
                return;
            }
        }
    }

    /** Keeps the holds of orders that wait for their payment. */
    public static function extend(): void
    {
        if (Settings::isConfigured()) {
            foreach (self::orders(OrderCards::META, ['status' => ['pending', 'on-hold']]) as $order) {
                Settlement::follow($order->get_id(), Client::forTask());
            }
        }
    }

    /** Stores the differences. The next comparison replaces them. */
    public static function run(): void
    {
        if (!Settings::isConfigured()) {
            return;
        }
        $earlier = get_option(self::RESULT);
        $earlier = is_array($earlier) ? $earlier : ['at' => 0, 'orders' => 0, 'holds' => 0, 'differences' => []];
        // Nothing was compared while the plugin was not active, or while Largesse did not respond.
        $last = $earlier['at'] > 0 ? min($earlier['at'], time()) : time();
        $isRecent = ['date_modified' => '>' . ($last - self::DAYS * DAY_IN_SECONDS)];
        try {
            [$holds, $found, $seen] = [self::openHolds(), [], []];
            foreach (self::orders(OrderCards::META, $isRecent) as $order) {
                $seen[$order->get_id()] = true;
                array_push($found, ...self::compareOrder($order, $holds));
            }
            foreach (self::orders(CartGift::ORDER_META, $isRecent) as $order) {
                $seen[$order->get_id()] = true;
                array_push($found, ...self::named($order, Issuing::compare($order)));
            }
            foreach ($holds as $external => $hold) {
                array_push($found, ...self::compareHold((string) $external, $hold));
            }
            $result = ['at' => time(), 'orders' => count($seen), 'holds' => count($holds), 'differences' => array_slice($found, 0, 500), 'error' => ''];
        } catch (Unreachable | ServiceError $error) {
            $result = ['error' => $error->getMessage()] + $earlier;
        }
        update_option(self::RESULT, $result, false);
        Log::info('Orders and gift cards were compared: ' . count($result['differences']) . ' differences' . ($result['error'] === '' ? '' : ', ' . $result['error']));
    }

    /**
     * The open holds that this shop made.
     *
     * @return array<string, array<string, mixed>> by their external ids
     */
    private static function openHolds(): array
    {
        $holds = [];
        $cursor = '';
        for ($page = 1; $page <= self::PAGES_MAX; $page += 1) {
            $body = Client::forTask()->send('GET', '/holds?status=open&limit=250' . ($cursor === '' ? '' : '&cursor=' . rawurlencode($cursor)));
            foreach ($body['holds'] as $hold) {
                if (is_string($hold['external_id']) && str_starts_with($hold['external_id'], Settings::externalPrefix())) {
                    $holds[$hold['external_id']] = $hold;
                }
            }
            $cursor = (string) ($body['next_cursor'] ?? '');
            if ($cursor === '') {
                break;
            }
        }
        return $holds;
    }

    /**
     * @param array<string, mixed> $hold
     * @return list<array{order: int, text: string}>
     */
    private static function compareHold(string $external, array $hold): array
    {
        $orderId = (int) substr($external, strlen(Settings::externalPrefix()));
        $cards = OrderCards::stored($orderId);
        foreach ($cards?->rows ?? [] as $row) {
            if ($row['external'] === $external && in_array($row['state'], ['held', 'holding'], true)) {
                return [];
            }
        }
        // The order can have used or voided it since the holds were read.
        if (Client::forTask()->send('GET', "/holds/{$hold['id']}")['hold']['status'] !== 'open') {
            return [];
        }
        if (in_array($external, $cards?->dropped ?? [], true)) {
            Settlement::later($orderId, 5);
        }
        /* translators: 1: an amount, 2: the number of a hold */
        $text = __('%1$s are reserved on a gift card that the order does not use (hold %2$d).', 'largesse-gift-cards');
        return [['order' => $orderId, 'text' => sprintf($text, $hold['amount'] . ' ' . $hold['currency'], $hold['id'])]];
    }

    /**
     * @param array<string, array<string, mixed>> $holds
     * @return list<array{order: int, text: string}>
     */
    private static function compareOrder(\WC_Order $order, array $holds): array
    {
        $cards = OrderCards::of($order);
        $decimals = OrderCards::decimals();
        $texts = [];
        $isPaid = in_array($order->get_status(), wc_get_is_paid_statuses(), true);
        $isEnded = $order->has_status(['cancelled', 'failed', 'refunded']);
        $isRight = abs(Totals::grossOf($order, $cards) - self::goodsOf($order)) <= 1;
        if (!$isRight) {
            $texts[] = __('The total and the gift cards are not what the goods, tax and shipping cost.', 'largesse-gift-cards');
        }
        foreach ($cards->rows as $row) {
            $name = Totals::label($row['last']);
            $hold = $holds[$row['external']] ?? null;
            if ($row['state'] === 'failed' || ($isPaid && $row['state'] !== 'captured')) {
                /* translators: %s: the name of a gift card */
                $texts[] = sprintf(__('The order is paid, but %s is not.', 'largesse-gift-cards'), $name);
            } elseif ($isEnded && $hold !== null) {
                /* translators: %s: the name of a gift card */
                $texts[] = sprintf(__('The order is cancelled or has failed, but %s still reserves its amount.', 'largesse-gift-cards'), $name);
            } elseif ($row['state'] === 'held' && ($hold === null || Money::unitsOf($hold['amount'], $decimals) !== Money::unitsOf($row['held'], $decimals))) {
                /* translators: %s: the name of a gift card */
                $texts[] = sprintf(__('%s no longer reserves the amount of the order.', 'largesse-gift-cards'), $name);
            }
        }
        if ($order->has_status(['cancelled', 'refunded']) && $cards->refundableUnits() > 0) {
            $texts[] = __('The order is cancelled or refunded, but its gift cards were not given the amount back.', 'largesse-gift-cards');
        }
        array_push($texts, ...self::compareRefunds($order, $cards), ...self::compareEntries($order, $cards));
        // A task repeats what its status asks for. An order with another total is left to staff: its customer may have paid all of it.
        if ($texts !== [] && $isRight) {
            Settlement::later($order->get_id(), 5);
        }
        return self::named($order, $texts);
    }

    /**
     * @param list<string> $texts
     * @return list<array{order: int, text: string}>
     */
    private static function named(\WC_Order $order, array $texts): array
    {
        return array_map(static fn(string $text): array => ['order' => $order->get_id(), 'text' => $text], $texts);
    }

    /** The price of the order before its cards, in the way of WooCommerce. */
    public static function goodsOf(\WC_Order $order): int
    {
        $decimals = OrderCards::decimals();
        $total = (float) $order->get_shipping_total() + (float) $order->get_cart_tax() + (float) $order->get_shipping_tax();
        foreach ($order->get_items(['line_item', 'fee']) as $item) {
            $total += (float) $item->get_total();
        }
        return Money::unitsOfShop(round($total, $decimals), $decimals);
    }

    /** @return list<string> */
    private static function compareRefunds(\WC_Order $order, OrderCards $cards): array
    {
        $texts = [];
        foreach ($cards->refunds as $refund) {
            if ($refund['state'] !== 'done') {
                /* translators: 1: an amount, 2: the name of a gift card */
                $texts[] = sprintf(__('%1$s were not given back to %2$s.', 'largesse-gift-cards'), $refund['amount'], Totals::label($refund['last']));
            }
        }
        $known = array_column($cards->refunds, 'refund');
        foreach ($order->get_refunds() as $refund) {
            if (is_array($refund->get_meta(Refunding::REFUND_META)) && !in_array($refund->get_id(), $known, true)) {
                /* translators: %d: the number of a refund */
                $texts[] = sprintf(__('Refund %d names gift cards, but nothing was given back to them.', 'largesse-gift-cards'), $refund->get_id());
            }
        }
        return $texts;
    }

    /**
     * Compares what was taken and given back with the entries of Largesse.
     *
     * @return list<string>
     */
    private static function compareEntries(\WC_Order $order, OrderCards $cards): array
    {
        $decimals = OrderCards::decimals();
        $taken = $cards->refundableUnits();
        foreach ($cards->refunds as $refund) {
            // A pending refund is still taken.
            $taken += $refund['state'] === 'pending' ? Money::unitsOf($refund['amount'], $decimals) : 0;
        }
        $query = '/transactions?limit=250&order_reference=' . rawurlencode(mb_substr((string) $order->get_order_number(), 0, 255));
        $own = array_column($cards->rows, 'card');
        $entries = 0;
        foreach (Client::forTask()->send('GET', $query)['transactions'] as $entry) {
            $isOwn = in_array($entry['gift_card_id'], $own, true) && in_array($entry['kind'], ['capture', 'reversal'], true);
            if ($isOwn) {
                $sign = str_starts_with($entry['amount'], '-') ? 1 : -1;
                $entries += $sign * Money::unitsOf(ltrim($entry['amount'], '-'), $decimals);
            }
        }
        if ($entries === $taken) {
            return [];
        }
        /* translators: 1: an amount, 2: an amount */
        $text = __('The order took %1$s from gift cards, and Largesse has %2$s.', 'largesse-gift-cards');
        $show = static fn(int $units): string => ($units < 0 ? '-' : '') . Money::decimalOf(abs($units), $decimals);
        return [sprintf($text, $show($taken), $show($entries))];
    }
}
