<?php

declare(strict_types=1);

use Largesse\WooCommerce\BuyerText;
use Largesse\WooCommerce\CartGift;

test('texts of customers with links, and names with phone numbers or amounts, are recognized as by the service', static function (): void {
    $texts = json_decode((string) file_get_contents(__DIR__ . '/buyer-texts.json'), true, 4, JSON_THROW_ON_ERROR);
    $currencies = ['EUR', 'GBP', 'USD'];
    $links = array_merge(...array_values($texts['links']));
    same(array_values(array_filter($links, static fn(string $text): bool => !BuyerText::hasLink($text))), []);
    same(array_values(array_filter($texts['harmless'], BuyerText::hasLink(...))), []);
    same(array_values(array_filter($texts['numbers'], static fn(string $name): bool => !BuyerText::hasNumber($name, $currencies))), []);
    same(array_values(array_filter($texts['names'], static fn(string $name): bool => BuyerText::hasLink($name) || BuyerText::hasNumber($name, $currencies))), []);
});

test('a gift card with a link, or with a number in a name, is not added to the cart', static function (): void {
    $noticeOf = static function (array $fields): ?string {
        [$_POST, Fakes::$notices] = [['largesse_amount' => '25', ...$fields], []];
        $isAdded = CartGift::validate(true, 5);
        same($isAdded, Fakes::$notices === []);
        return Fakes::$notices[0] ?? null;
    };
    same($noticeOf(['largesse_recipient_name' => 'Ada', 'largesse_sender_name' => 'Grace O. Hopper', 'largesse_message' => 'For you. Call 030 1234567']), null);
    foreach (['largesse_recipient_name', 'largesse_sender_name', 'largesse_message'] as $field) {
        foreach (['see parcel-fee.store', 'ada@example.com', "evil\u{3002}com"] as $text) {
            same(str_starts_with((string) $noticeOf([$field => $text]), 'Links, web addresses and @'), true, "$field: $text");
        }
    }
    foreach (['largesse_recipient_name', 'largesse_sender_name'] as $field) {
        foreach (['Call 030 1234567', '499 USD'] as $text) {
            same(str_starts_with((string) $noticeOf([$field => $text]), 'A name cannot contain'), true, "$field: $text");
        }
    }
    $_POST = [];
});
