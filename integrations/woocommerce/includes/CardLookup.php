<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Finds a card by the code that a visitor typed. Unknown codes are limited per visitor. */
final class CardLookup
{
    /**
     * @return array<string, mixed> the card of the response
     * @throws Rejected with a text for the visitor
     */
    public static function byCode(string $typed): array
    {
        $code = strlen($typed) <= 100 ? (string) preg_replace('/[\s-]+/', '', $typed) : '';
        if (preg_match('/^[0-9A-Za-z]{8,20}$/', $code) !== 1) {
            throw new Rejected(__('This is not the code of a gift card.', 'largesse-gift-cards'));
        }
        $visitor = new Visitor();
        $isUnknown = false;
        try {
            $visitor->reserveUnknown();
        } catch (Unreachable) {
            throw new Rejected(self::unavailable());
        }
        try {
            return Client::forCustomer()->send('POST', '/gift_card/lookup', ['code' => $code])['gift_card'];
        } catch (ServiceError $error) {
            $isUnknown = $error->status === 404;
            if ($isUnknown) {
                throw new Rejected(__('There is no gift card with this code.', 'largesse-gift-cards'));
            }
            Log::error('A gift card was not looked up: ' . $error->getMessage());
            throw new Rejected(self::unavailable());
        } catch (Unreachable) {
            throw new Rejected(self::unavailable());
        } finally {
            if (!$isUnknown) {
                $visitor->releaseUnknown();
            }
        }
    }

    public static function unavailable(): string
    {
        return __('Gift cards cannot be checked at the moment. Try again, or pay in another way.', 'largesse-gift-cards');
    }

    public static function stateText(string $state): string
    {
        return match ($state) {
            'disabled' => __('This gift card is no longer valid.', 'largesse-gift-cards'),
            'expired' => __('This gift card has expired.', 'largesse-gift-cards'),
            'suspended' => __('This gift card is suspended. Contact the shop.', 'largesse-gift-cards'),
            default => __('This gift card is empty.', 'largesse-gift-cards'),
        };
    }
}
