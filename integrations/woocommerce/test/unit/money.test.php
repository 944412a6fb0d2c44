<?php

declare(strict_types=1);

use Largesse\WooCommerce\Allocation;
use Largesse\WooCommerce\Money;

test('amounts of Largesse become units of the shop, rounded down', static function (): void {
    same(Money::unitsOf('12.34', 2), 1234);
    same(Money::unitsOf('12.34', 0), 12);
    same(Money::unitsOf('12', 2), 1200);
    same(Money::unitsOf('0.005', 3), 5);
    same(Money::unitsOf('999999999999.99', 2), 99999999999999);
    foreach (['-1', '1e3', '', '1,5', ' 1'] as $text) {
        throws(UnexpectedValueException::class, static fn() => Money::unitsOf($text, 2));
    }
});

test('units become decimals without zeros at their end, and back', static function (): void {
    same(Money::decimalOf(1250, 2), '12.5');
    same(Money::decimalOf(1200, 2), '12');
    same(Money::decimalOf(5, 2), '0.05');
    same(Money::decimalOf(0, 2), '0');
    same(Money::decimalOf(1500, 0), '1500');
    for ($units = 0; $units < 3000; $units += 7) {
        same(Money::unitsOf(Money::decimalOf($units, 2), 2), $units);
        same(Money::unitsOfShop(Money::shopAmountOf($units, 2), 2), $units);
    }
});

test('floats of WooCommerce become the units that they mean', static function (): void {
    same(Money::unitsOfShop(19.99 * 3, 2), 5997);
    same(Money::unitsOfShop(0.1 + 0.2, 2), 30);
    same(Money::unitsOfShop('167.63', 2), 16763);
});

test('a currency without decimals in a shop with two is rounded down', static function (): void {
    same(Money::roundedDown(15099, 2, '200'), 15000);
    same(Money::roundedDown(15099, 2, '200.00'), 15099);
});

test('cards pay in the order in which they were entered, and never more than is due', static function (): void {
    $card = static fn(int $id, string $available): array => ['card' => $id, 'last' => "l$id", 'available' => $available];
    $shares = Allocation::of(10000, [$card(1, '30.00'), $card(2, '0.00'), $card(3, '50.50'), $card(4, '70.00')], 2);
    same(array_column($shares, 'units', 'card'), [1 => 3000, 3 => 5050, 4 => 1950]);
    same(Allocation::sum($shares), 10000);
    same(Allocation::of(0, [$card(1, '30.00')], 2), []);
});
