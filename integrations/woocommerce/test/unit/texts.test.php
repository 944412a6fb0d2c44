<?php

declare(strict_types=1);

use Largesse\WooCommerce\BuyerText;

test('texts of customers with links, and names with phone numbers or amounts, are recognized as by the service', static function (): void {
    $texts = json_decode((string) file_get_contents(__DIR__ . '/buyer-texts.json'), true, 4, JSON_THROW_ON_ERROR);
    $currencies = ['EUR', 'GBP', 'USD'];
    $links = array_merge(...array_values($texts['links']));
    same(array_values(array_filter($links, static fn(string $text): bool => !BuyerText::hasLink($text))), []);
    same(array_values(array_filter($texts['harmless'], BuyerText::hasLink(...))), []);
    same(array_values(array_filter($texts['numbers'], static fn(string $name): bool => !BuyerText::hasNumber($name, $currencies))), []);
    same(array_values(array_filter($texts['names'], static fn(string $name): bool => BuyerText::hasLink($name) || BuyerText::hasNumber($name, $currencies))), []);
});
