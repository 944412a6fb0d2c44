<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Divides an amount among cards, in the order in which the customer entered them. */
final class Allocation
{
    /**
     * @param list<array{card: int, last: string, available: string}> $cards
     * @return list<array{card: int, last: string, units: int}> the cards that pay something
     */
    public static function of(int $due, array $cards, int $decimals): array
    {
        $shares = [];
        foreach ($cards as $card) {
            $units = min($due, Money::unitsOf($card['available'], $decimals));
            $units = Money::roundedDown($units, $decimals, $card['available']);
            if ($units <= 0) {
                continue;
            }
            $due -= $units;
            $shares[] = ['card' => $card['card'], 'last' => $card['last'], 'units' => $units];
        }
        return $shares;
    }

    /** @param list<array{units: int}> $shares */
    public static function sum(array $shares): int
    {
        return array_sum(array_column($shares, 'units'));
    }
}
