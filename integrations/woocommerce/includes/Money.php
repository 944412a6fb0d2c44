<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Amounts as integers of the smallest unit that the shop shows. Floats occur only where WooCommerce has them. */
final class Money
{
    /** The units of an amount of Largesse, rounded down: a card never pays more than it has. */
    public static function unitsOf(string $decimal, int $decimals): int
    {
        if (preg_match('/^(\d{1,12})(?:\.(\d{1,6}))?$/', $decimal, $parts) !== 1) {
            throw new \UnexpectedValueException('an amount of the service cannot be read');
        }
        $fraction = substr(str_pad($parts[2] ?? '', $decimals, '0'), 0, $decimals);
        return (int) ($parts[1] . $fraction);
    }

    /** The units of an amount of WooCommerce, which has at most the decimals of the shop. */
    public static function unitsOfShop(float|int|string $amount, int $decimals): int
    {
        return (int) round((float) $amount * 10 ** $decimals);
    }

    /** The decimal string of an amount, without zeros at its end: Largesse rejects more decimals than the currency has. */
    public static function decimalOf(int $units, int $decimals): string
    {
        if ($units < 0) {
            throw new \UnexpectedValueException('an amount is not negative');
        }
        $digits = str_pad((string) $units, $decimals + 1, '0', STR_PAD_LEFT);
        if ($decimals === 0) {
            return $digits;
        }
        $fraction = rtrim(substr($digits, -$decimals), '0');
        $whole = substr($digits, 0, -$decimals);
        return $fraction === '' ? $whole : "$whole.$fraction";
    }

    /** The amount as WooCommerce stores it. */
    public static function shopAmountOf(int $units, int $decimals): float
    {
        return round($units / 10 ** $decimals, $decimals);
    }

    /** The units rounded down to the decimals of the card's currency, which the shop can exceed. */
    public static function roundedDown(int $units, int $decimals, string $sample): int
    {
        $own = strlen(explode('.', $sample)[1] ?? '');
        $step = 10 ** max(0, $decimals - $own);
        return $units - $units % $step;
    }
}
