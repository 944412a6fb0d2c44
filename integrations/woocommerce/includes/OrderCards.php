<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/**
 * The gift cards of an order, in one hidden field of the order, which stays readable without the plugin.
 *
 * A card is `planned` before the order is placed, `holding` while the outcome of the hold is unknown, then `held`, and
 * `captured` when the order is paid. `released`: the hold was voided. `failed`: the amount could not be collected.
 *
 * @phpstan-type Row array{card: int, last: string, amount: string, state: string, external: string, hold: int, held: string, capture: int, refunded: string, error: string}
 * @phpstan-type Refund array{card: int, last: string, capture: int, amount: string, external: string, state: string, refund: int, error: string}
 */
final class OrderCards
{
    public const META = '_largesse_cards';

    /** @var list<Row> */
    public array $rows;
    /** @var list<Refund> */
    public array $refunds;
    /** @var list<string> External ids of holds that are no longer needed. */
    public array $dropped;
    /** The number of holds that were tried. */
    public int $attempt;

    private function __construct(public readonly \WC_Order $order, mixed $meta)
    {
        $saved = is_array($meta) ? $meta : [];
        $this->rows = $saved['rows'] ?? [];
        $this->refunds = $saved['refunds'] ?? [];
        $this->dropped = $saved['dropped'] ?? [];
        $this->attempt = $saved['attempt'] ?? 0;
    }

    public static function of(\WC_Order $order): self
    {
        return new self($order, $order->get_meta(self::META));
    }

    /** The record as it is stored now, on an object of its own. */
    public static function stored(int $orderId): ?self
    {
        $order = wc_get_order($orderId);
        if (!$order instanceof \WC_Order) {
            return null;
        }
        // Another request can have written since a cache was filled.
        $order->read_meta_data(true);
        return self::of($order);
    }

    /** The record as it is stored now, for this object. Before the order is stored: that of the object. */
    public static function latest(\WC_Order $order): self
    {
        $cards = self::of($order);
        $stored = $order->get_id() > 0 ? self::stored($order->get_id()) : null;
        // A plan can be newer in the object.
        $isDecided = $stored !== null && array_filter($stored->rows, static fn(array $row): bool => $row['state'] !== 'planned') !== [];
        if ($isDecided) {
            [$cards->rows, $cards->refunds, $cards->dropped, $cards->attempt] = [$stored->rows, $stored->refunds, $stored->dropped, $stored->attempt];
        }
        return $cards;
    }

    public function isEmpty(): bool
    {
        return $this->rows === [] && $this->refunds === [] && $this->dropped === [];
    }

    /** Sets the field of the object. The caller saves the order. */
    public function set(): void
    {
        $this->order->update_meta_data(self::META, [
            'rows' => $this->rows,
            'refunds' => $this->refunds,
            'dropped' => $this->dropped,
            'attempt' => $this->attempt,
        ]);
    }

    /** Stores the field, and nothing else of the order. */
    public function save(): void
    {
        $this->set();
        $this->order->save_meta_data();
    }

    /**
     * Changes a card, and stores it.
     *
     * @param array<string, int|string> $changes
     */
    public function change(int $index, array $changes): void
    {
        $this->rows[$index] = $changes + $this->rows[$index];
        $this->save();
    }

    /** The decimals of the shop. Orders of WooCommerce have no decimals of their own. */
    public static function decimals(): int
    {
        return wc_get_price_decimals();
    }

    /** @return list<Row> the cards that pay something */
    public function paying(): array
    {
        return array_values(array_filter($this->rows, static fn(array $row): bool => (float) $row['amount'] > 0));
    }

    /** The amount that the cards pay of the order. */
    public function units(): int
    {
        $decimals = self::decimals();
        return array_sum(array_map(static fn(array $row): int => Money::unitsOf($row['amount'], $decimals), $this->rows));
    }

    /** The amount that was taken from the cards and not given back; refunds in progress count as given back. */
    public function refundableUnits(?int $card = null): int
    {
        $units = 0;
        foreach ($this->rows as $row) {
            if ($row['state'] === 'captured' && ($card === null || $row['card'] === $card)) {
                $units += Money::unitsOf($row['amount'], self::decimals());
            }
        }
        foreach ($this->refunds as $refund) {
            if ($refund['state'] !== 'failed' && ($card === null || $refund['card'] === $card)) {
                $units -= Money::unitsOf($refund['amount'], self::decimals());
            }
        }
        return $units;
    }

    /** The amount that was given back to the cards, with the refunds in progress. */
    public function refundedUnits(): int
    {
        $units = 0;
        foreach ($this->refunds as $refund) {
            if ($refund['state'] !== 'failed') {
                $units += Money::unitsOf($refund['amount'], self::decimals());
            }
        }
        return $units;
    }

    /**
     * Replaces the cards that were not captured by these shares. A hold on the same amount stays; others are dropped.
     *
     * @param list<array{card: int, last: string, units: int}> $shares
     */
    public function plan(array $shares): void
    {
        $earlier = $this->rows;
        $this->rows = array_values(array_filter($earlier, static fn(array $row): bool => $row['state'] === 'captured'));
        foreach ($shares as $share) {
            $amount = Money::decimalOf($share['units'], self::decimals());
            $kept = null;
            foreach ($earlier as $row) {
                if ($row['card'] === $share['card'] && $row['amount'] === $amount && $row['state'] === 'held') {
                    $kept = $row;
                }
            }
            $this->rows[] = $kept ?? self::row($share['card'], $share['last'], $amount);
        }
        $used = array_column($this->rows, 'external');
        foreach ($earlier as $row) {
            $isOpen = in_array($row['state'], ['held', 'holding'], true);
            if ($isOpen && !in_array($row['external'], $used, true)) {
                $this->dropped[] = $row['external'];
            }
        }
    }

    /** @return Row */
    private static function row(int $card, string $last, string $amount): array
    {
        return [
            'card' => $card,
            'last' => $last,
            'amount' => $amount,
            'state' => 'planned',
            'external' => '',
            'hold' => 0,
            'held' => '0',
            'capture' => 0,
            'refunded' => '0',
            'error' => '',
        ];
    }

    /**
     * Reduces the cards that were not captured, the last first, until all cards pay at most the amount.
     *
     * @return bool whether anything changed
     */
    public function reduceTo(int $units): bool
    {
        $excess = $this->units() - $units;
        $changed = false;
        for ($index = count($this->rows) - 1; $index >= 0 && $excess > 0; $index -= 1) {
            $row = $this->rows[$index];
            if ($row['state'] === 'captured') {
                continue;
            }
            $old = Money::unitsOf($row['amount'], self::decimals());
            $cut = min($excess, $old);
            $excess -= $cut;
            $changed = true;
            $this->rows[$index]['amount'] = Money::decimalOf($old - $cut, self::decimals());
        }
        return $changed;
    }

    /** The external id of a step: the same step always has the same one, so a repetition finds what the first one did. */
    public static function externalId(int $orderId, string ...$step): string
    {
        return Settings::externalPrefix() . $orderId . ':' . implode(':', $step);
    }
}
