<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Holds the amounts of an order on its cards: all of them, or none. */
final class Holding
{
    /** A customer can be this long at a gateway. A waiting order is extended. */
    private const CHECKOUT_SECONDS = 2 * HOUR_IN_SECONDS;

    /** @throws Rejected with a text for the customer; the order then has no cards, and its whole total */
    public static function hold(int $orderId, Client $client): void
    {
        try {
            Lock::order($orderId, static function () use ($orderId, $client): void {
                $cards = OrderCards::stored($orderId);
                if ($cards === null) {
                    return;
                }
                Settlement::voidDropped($cards, $client);
                foreach (array_keys($cards->rows) as $index) {
                    if (!in_array($cards->rows[$index]['state'], ['held', 'captured'], true)) {
                        self::holdRow($cards, $index, $client);
                    }
                }
            });
        } catch (ServiceError $error) {
            self::giveUp($orderId, $error);
        } catch (Unreachable) {
            self::giveUp($orderId, null);
        }
    }

    /**
     * Holds the amount of one card. The external id is stored before the request, so that a crash leaves a trace.
     *
     * @throws ServiceError
     * @throws Unreachable
     */
    public static function holdRow(OrderCards $cards, int $index, Client $client): void
    {
        $order = $cards->order;
        if ($cards->rows[$index]['state'] !== 'holding') {
            $cards->attempt += 1;
            $step = ['hold', (string) $cards->rows[$index]['card'], (string) $cards->attempt];
            $cards->change($index, ['external' => OrderCards::externalId($order->get_id(), ...$step), 'state' => 'holding']);
        }
        $row = $cards->rows[$index];
        $response = $client->send('POST', "/gift_card/{$row['card']}/holds", [
            'amount' => $row['amount'],
            'currency' => $order->get_currency(),
            'expires_in' => self::CHECKOUT_SECONDS,
            'order_reference' => mb_substr((string) $order->get_order_number(), 0, 255),
            'external_id' => $row['external'],
        ]);
        $hold = $response['hold'];
        if ($hold['status'] !== 'open') {
            // The repetition found a hold that has ended since.
            $cards->change($index, ['state' => 'released']);
            throw new Unreachable('the hold has ended');
        }
        $cards->change($index, ['state' => 'held', 'hold' => (int) $hold['id'], 'held' => $row['amount'], 'error' => '']);
        Log::info("Order {$order->get_id()}: {$row['amount']} held on gift card …{$row['last']}");
    }

    /**
     * Takes the cards off the order, so that the customer can pay in another way.
     *
     * @throws Rejected
     */
    private static function giveUp(int $orderId, ?ServiceError $error): never
    {
        $text = CardLookup::unavailable();
        try {
            Lock::order($orderId, static function () use ($orderId, $error, &$text): void {
                $cards = OrderCards::stored($orderId);
                if ($cards === null) {
                    return;
                }
                $order = $cards->order;
                $gross = Totals::grossOf($order, $cards);
                $text = self::explain($cards, $error);
                $cards->plan([]);
                $cards->set();
                Totals::setTotal($order, $gross, $cards);
                $order->save();
            });
        } finally {
            // Its holds are voided by a task, so that the customer does not wait again.
            Settlement::later($orderId, 5);
        }
        throw new Rejected($text);
    }

    /** Corrects the session by what the service said, and returns the text for the customer. */
    private static function explain(OrderCards $cards, ?ServiceError $error): string
    {
        $failed = null;
        foreach ($cards->rows as $row) {
            if ($row['state'] === 'holding') {
                $failed = $row;
            }
        }
        if ($error === null || $failed === null || !$error->is('insufficient-balance', 'card-disabled', 'card-expired', 'card-suspended', 'not-found')) {
            if ($error !== null) {
                Log::error("Order {$cards->order->get_id()}: no hold: " . $error->getMessage());
            }
            return CardLookup::unavailable();
        }
        $available = $error->problem['available'] ?? null;
        SessionCards::correct($failed['card'], $error->is('insufficient-balance') && is_string($available) ? $available : null);
        /* translators: %s: the last characters of a gift card */
        $text = __('Gift card %s has changed. Check the new total, and place the order again.', 'largesse-gift-cards');
        return sprintf($text, '…' . strtoupper($failed['last']));
    }
}
