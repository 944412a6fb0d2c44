<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/**
 * The cards that a customer has entered, in the session: ids, last characters and what they had. Codes are not kept.
 *
 * @phpstan-type Card array{card: int, last: string, available: string}
 */
final class SessionCards
{
    private const KEY = 'largesse_cards';
    private const CARDS_MAX = 10;

    /** @return list<Card> */
    public static function all(): array
    {
        $saved = WC()->session?->get(self::KEY);
        return is_array($saved) ? array_values($saved) : [];
    }

    /** @param list<Card> $cards */
    public static function save(array $cards): void
    {
        WC()->session?->set(self::KEY, $cards === [] ? null : $cards);
    }

    public static function clear(): void
    {
        self::save([]);
    }

    public static function remove(int $card): void
    {
        self::save(array_values(array_filter(self::all(), static fn(array $known): bool => $known['card'] !== $card)));
    }

    /** Corrects what a card has. Without an amount, or with nothing left, the card is removed. */
    public static function correct(int $card, ?string $available): void
    {
        $cards = [];
        foreach (self::all() as $known) {
            if ($known['card'] !== $card) {
                $cards[] = $known;
            } elseif ($available !== null && Money::unitsOf($available, OrderCards::decimals()) > 0) {
                $cards[] = ['available' => $available] + $known;
            }
        }
        self::save($cards);
    }

    /**
     * Adds the card with the code to the cart.
     *
     * @throws Rejected
     */
    public static function add(string $typed): void
    {
        $cards = self::all();
        if (count($cards) >= self::CARDS_MAX) {
            throw new Rejected(__('No more gift cards can be added to this order.', 'largesse-gift-cards'));
        }
        $card = CardLookup::byCode($typed);
        if ($card['currency'] !== get_woocommerce_currency()) {
            /* translators: 1: a currency, 2: a currency */
            $text = __('This gift card is in %1$s, and this shop is in %2$s.', 'largesse-gift-cards');
            throw new Rejected(sprintf($text, $card['currency'], get_woocommerce_currency()));
        }
        if ($card['state'] !== 'active') {
            throw new Rejected(CardLookup::stateText($card['state']));
        }
        $available = self::withOwnHold($card['id'], $card['available']);
        if (Money::unitsOf($available, OrderCards::decimals()) <= 0) {
            throw new Rejected(__('This gift card is empty.', 'largesse-gift-cards'));
        }
        $added = ['card' => $card['id'], 'last' => $card['last_characters'], 'available' => $available];
        $others = array_filter($cards, static fn(array $known): bool => $known['card'] !== $card['id']);
        self::save([...array_values($others), $added]);
        Account::remember($card);
    }

    /** An order of this customer that waits for its payment holds a part of the card, which this checkout replaces. */
    private static function withOwnHold(int $card, string $available): string
    {
        $decimals = OrderCards::decimals();
        $units = Money::unitsOf($available, $decimals);
        $order = wc_get_order(self::waitingOrderId());
        if ($order instanceof \WC_Order && $order->has_status(['pending', 'failed', 'checkout-draft'])) {
            foreach (OrderCards::of($order)->rows as $row) {
                if ($row['card'] === $card && $row['state'] === 'held') {
                    $units += Money::unitsOf($row['held'], $decimals);
                }
            }
        }
        $own = strlen(explode('.', $available)[1] ?? '');
        return number_format($units / 10 ** $decimals, min($own, $decimals), '.', '');
    }

    /** The order that this customer tried to pay. */
    public static function waitingOrderId(): int
    {
        return (int) (WC()->session?->get('largesse_order') ?? 0);
    }

    public static function setWaitingOrder(int $orderId): void
    {
        WC()->session?->set('largesse_order', $orderId);
    }
}
