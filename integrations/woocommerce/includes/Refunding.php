<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/**
 * Refunds an order to its cards, to its other method, or to both. WooCommerce rejects to refund more than the total of an
 * order, which is what its cards did not pay. A refund of WooCommerce has the goods and the money; the cards
 * are in a field of that refund.
 *
 * @phpstan-type Request array{cards: array<int, int>, other: int, items: array<int, float>, gateway: bool, restock: bool, reason: string}
 */
final class Refunding
{
    public const REFUND_META = '_largesse_cards_refund';

    /** @var array{order: int, units: int, cards: array<int, string>}|null The refund in progress. */
    private static ?array $current = null;

    public static function register(): void
    {
        add_action('woocommerce_create_refund', self::markRefund(...));
        add_filter('woocommerce_order_is_partially_refunded', self::isPartial(...), 10, 2);
    }

    /**
     * @param Request $request amounts in units of the shop
     * @throws Rejected with a text for staff
     */
    public static function refund(int $orderId, array $request): void
    {
        try {
            Lock::order($orderId, static fn() => self::refundLocked($orderId, $request));
        } catch (Unreachable $error) {
            throw new Rejected($error->getMessage());
        }
        Settlement::follow($orderId, Client::forStaff());
    }

    /** @param Request $request */
    private static function refundLocked(int $orderId, array $request): void
    {
        $cards = OrderCards::stored($orderId);
        if ($cards === null) {
            throw new Rejected(__('There is no such order.', 'largesse-gift-cards'));
        }
        $lines = self::linesOf($cards->order, $request['items']);
        self::assertAmounts($cards, $request, $lines);
        $decimals = OrderCards::decimals();
        $amounts = array_map(static fn(int $units): string => Money::decimalOf($units, $decimals), array_filter($request['cards']));
        self::$current = ['order' => $orderId, 'units' => array_sum($request['cards']), 'cards' => $amounts];
        try {
            $refund = wc_create_refund([
                'order_id' => $orderId,
                'amount' => Money::decimalOf($request['other'], $decimals),
                'reason' => $request['reason'],
                'line_items' => array_map(static fn(array $line): array => $line['line'], $lines),
                'refund_payment' => $request['gateway'] && $request['other'] > 0,
                'restock_items' => $request['restock'],
            ]);
        } finally {
            self::$current = null;
        }
        if (is_wp_error($refund)) {
            throw new Rejected($refund->get_error_message());
        }
        self::add($orderId, $amounts, $refund->get_id());
    }

    /** Stores what is given back before it is given back. @param array<int, string> $amounts */
    private static function add(int $orderId, array $amounts, int $refundId): void
    {
        $cards = OrderCards::stored($orderId);
        if ($cards === null) {
            return;
        }
        foreach ($cards->rows as $row) {
            $amount = $amounts[$row['card']] ?? null;
            if ($row['state'] !== 'captured' || $amount === null) {
                continue;
            }
            $cards->refunds[] = [
                'card' => $row['card'],
                'last' => $row['last'],
                'capture' => $row['capture'],
                'amount' => $amount,
                'external' => OrderCards::externalId($orderId, 'refund', (string) $row['card'], (string) $refundId),
                'state' => 'pending',
                'refund' => $refundId,
                'error' => '',
            ];
        }
        $cards->save();
    }

    /**
     * Gives back what is pending. All attempts of a refund have the same external id.
     *
     * @throws ServiceError
     * @throws Unreachable
     */
    public static function finish(OrderCards $cards, Client $client): void
    {
        foreach ($cards->refunds as $index => $refund) {
            if ($refund['state'] !== 'pending') {
                continue;
            }
            $order = $cards->order;
            try {
                $client->send('POST', "/transactions/{$refund['capture']}/reverse", [
                    'amount' => $refund['amount'],
                    'external_id' => $refund['external'],
                ]);
                $cards->refunds[$index]['state'] = 'done';
                /* translators: 1: an amount, 2: the name of a gift card */
                $note = __('%1$s were given back to %2$s.', 'largesse-gift-cards');
            } catch (ServiceError $error) {
                if ($error->status !== 422 && $error->status !== 404) {
                    throw $error;
                }
                $cards->refunds[$index]['state'] = 'failed';
                $cards->refunds[$index]['error'] = $error->problemCode;
                Log::error("Order {$order->get_id()}: a refund to gift card …{$refund['last']} was rejected: {$error->getMessage()}");
                /* translators: 1: an amount, 2: the name of a gift card */
                $note = __('%1$s could not be given back to %2$s: Largesse rejected it. The log has the reason.', 'largesse-gift-cards');
            }
            $cards->save();
            $order->add_order_note(sprintf($note, Capturing::priceOf($refund['amount'], $order), Totals::label($refund['last'])));
        }
    }

    /**
     * @param Request $request
     * @param array<int, array{line: array<string, mixed>, units: int}> $lines
     * @throws Rejected
     */
    private static function assertAmounts(OrderCards $cards, array $request, array $lines): void
    {
        $decimals = OrderCards::decimals();
        $total = $request['other'];
        if ($request['other'] < 0 || $request['other'] > Money::unitsOfShop($cards->order->get_remaining_refund_amount(), $decimals)) {
            throw new Rejected(__('More than was paid cannot be refunded to the other payment method.', 'largesse-gift-cards'));
        }
        foreach ($request['cards'] as $card => $units) {
            $total += $units;
            if ($units < 0 || $units > $cards->refundableUnits($card)) {
                throw new Rejected(__('More than a gift card paid cannot be given back to it.', 'largesse-gift-cards'));
            }
        }
        if ($total === 0) {
            throw new Rejected(__('Enter an amount to refund.', 'largesse-gift-cards'));
        }
        $items = array_sum(array_column($lines, 'units'));
        if ($lines !== [] && $items !== $total) {
            /* translators: 1: an amount, 2: an amount */
            $text = __('The items cost %1$s, but %2$s are refunded. Enter amounts with this sum, or no items.', 'largesse-gift-cards');
            throw new Rejected(sprintf(
                $text,
                Capturing::priceOf(Money::decimalOf($items, $decimals), $cards->order),
                Capturing::priceOf(Money::decimalOf($total, $decimals), $cards->order),
            ));
        }
    }

    /**
     * The refunded part of each item, with its tax.
     *
     * @param array<int, float> $quantities by item; 1 for shipping and fees
     * @return array<int, array{line: array<string, mixed>, units: int}>
     * @throws Rejected
     */
    private static function linesOf(\WC_Order $order, array $quantities): array
    {
        $decimals = OrderCards::decimals();
        $lines = [];
        foreach ($order->get_items(['line_item', 'fee', 'shipping']) as $id => $item) {
            $quantity = $quantities[$id] ?? 0.0;
            if ($quantity <= 0) {
                continue;
            }
            $isProduct = $item instanceof \WC_Order_Item_Product;
            $all = $isProduct ? (float) $item->get_quantity() : 1.0;
            $left = $isProduct ? $all + $order->get_qty_refunded_for_item($id) : ($order->get_total_refunded_for_item($id, $item->get_type()) > 0 ? 0.0 : 1.0);
            if ($quantity > $left || $all <= 0) {
                throw new Rejected(__('More items than were ordered cannot be refunded.', 'largesse-gift-cards'));
            }
            $share = $quantity / $all;
            $taxes = [];
            foreach ($item->get_taxes()['total'] ?? [] as $rate => $tax) {
                $taxes[$rate] = round((float) $tax * $share, $decimals);
            }
            $total = round((float) $item->get_total() * $share, $decimals);
            $lines[$id] = [
                'line' => ['qty' => $isProduct ? $quantity : 0, 'refund_total' => $total, 'refund_tax' => $taxes],
                'units' => Money::unitsOfShop($total + array_sum($taxes), $decimals),
            ];
        }
        return $lines;
    }

    public static function markRefund(\WC_Order_Refund $refund): void
    {
        if (self::$current !== null && self::$current['order'] === $refund->get_parent_id() && self::$current['cards'] !== []) {
            $refund->update_meta_data(self::REFUND_META, self::$current['cards']);
        }
    }

    /** An order is refunded completely when its cards are as well. */
    public static function isPartial(bool $isPartial, int $orderId): bool
    {
        $cards = OrderCards::stored($orderId);
        if ($isPartial || $cards === null || $cards->rows === []) {
            return $isPartial;
        }
        $now = self::$current !== null && self::$current['order'] === $orderId ? self::$current['units'] : 0;
        return $cards->refundableUnits() - $now > 0;
    }
}
