<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Collects what a card pays of a paid order. */
final class Capturing
{
    /**
     * Captures the hold of a card. A hold that has ended is made again: the customer has paid the rest of the order.
     *
     * @return string|null why the amount cannot be collected, for staff; null: it is collected
     * @throws ServiceError
     * @throws Unreachable
     */
    public static function capture(OrderCards $cards, int $index, Client $client): ?string
    {
        if (Money::unitsOf($cards->rows[$index]['amount'], OrderCards::decimals()) === 0) {
            // An edit of the order left nothing for this card.
            self::forgetHold($cards, $index);
            Settlement::voidDropped($cards, $client);
            return null;
        }
        for ($attempt = 1; ; $attempt += 1) {
            try {
                if ($cards->rows[$index]['state'] !== 'held') {
                    Holding::holdRow($cards, $index, $client);
                }
                self::captureHeld($cards, $index, $client);
                return null;
            } catch (ServiceError $error) {
                if ($attempt === 1 && self::hasEnded($cards->rows[$index]['hold'], $error, $client)) {
                    self::forgetHold($cards, $index);
                    continue;
                }
                if ($error->status !== 422 && $error->status !== 404) {
                    throw $error;
                }
                return self::fail($cards, $index, $error);
            }
        }
    }

    /** Whether the hold took nothing. A hold that was captured elsewhere did, so it is not made again. */
    private static function hasEnded(int $hold, ServiceError $error, Client $client): bool
    {
        if ($error->is('hold-closed')) {
            return $client->send('GET', "/holds/$hold")['hold']['status'] !== 'captured';
        }
        return $error->is('hold-expired', 'external-id-used', 'not-found', 'capture-exceeds-hold');
    }

    private static function captureHeld(OrderCards $cards, int $index, Client $client): void
    {
        $order = $cards->order;
        $row = $cards->rows[$index];
        $response = $client->send('POST', "/holds/{$row['hold']}/capture", [
            'amount' => $row['amount'],
            'order_reference' => mb_substr((string) $order->get_order_number(), 0, 255),
            'external_id' => str_replace(':hold:', ':capture:', $row['external']),
        ]);
        $cards->change($index, ['state' => 'captured', 'capture' => (int) $response['transaction']['id'], 'error' => '']);
        /* translators: 1: an amount, 2: the name of a gift card */
        $note = __('%1$s were taken from %2$s.', 'largesse-gift-cards');
        $order->add_order_note(sprintf($note, self::priceOf($row['amount'], $order), Totals::label($row['last'])));
        Log::info("Order {$order->get_id()}: {$row['amount']} captured from gift card …{$row['last']}");
    }

    private static function forgetHold(OrderCards $cards, int $index): void
    {
        $row = $cards->rows[$index];
        if (in_array($row['state'], ['held', 'holding'], true)) {
            $cards->dropped[] = $row['external'];
        }
        $cards->change($index, ['state' => 'released']);
    }

    private static function fail(OrderCards $cards, int $index, ServiceError $error): string
    {
        $row = $cards->rows[$index];
        if (in_array($row['state'], ['held', 'holding'], true)) {
            $cards->dropped[] = $row['external'];
        }
        $cards->change($index, ['state' => 'failed', 'error' => $error->problemCode]);
        /* translators: 1: an amount, 2: the name of a gift card, 3: a reason in English */
        $text = __('%1$s could not be collected from %2$s (%3$s). Do not ship the order before this amount is paid: see the box “Gift cards”.', 'largesse-gift-cards');
        return sprintf($text, self::priceOf($row['amount'], $cards->order), Totals::label($row['last']), $error->problemCode);
    }

    public static function priceOf(string $amount, \WC_Order $order): string
    {
        return html_entity_decode(wp_strip_all_tags(wc_price((float) $amount, ['currency' => $order->get_currency()])), ENT_QUOTES, 'UTF-8');
    }
}
