<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Finds a card by the code that a visitor typed. Unknown codes are limited per visitor. */
final class CardLookup
{
    private const UNKNOWN_MAX = 10;
    private const UNKNOWN_SECONDS = 15 * MINUTE_IN_SECONDS;

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
        $key = 'largesse_unknown_' . hash('sha256', self::visitor() . wp_salt());
        $unknown = (int) get_transient($key);
        if ($unknown >= self::UNKNOWN_MAX) {
            throw new Rejected(__('Too many unknown codes were entered. Try again in a few minutes.', 'largesse-gift-cards'));
        }
        try {
            return Client::forCustomer()->send('POST', '/gift_card/lookup', ['code' => $code])['gift_card'];
        } catch (ServiceError $error) {
            if ($error->status === 404) {
                set_transient($key, $unknown + 1, self::UNKNOWN_SECONDS);
                throw new Rejected(__('There is no gift card with this code.', 'largesse-gift-cards'));
            }
            Log::error('A gift card was not looked up: ' . $error->getMessage());
            throw new Rejected(self::unavailable());
        } catch (Unreachable) {
            throw new Rejected(self::unavailable());
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

    /** The address of the connection. A shop behind a proxy whose server does not set it can name another one. */
    private static function visitor(): string
    {
        $address = is_string($_SERVER['REMOTE_ADDR'] ?? null) ? $_SERVER['REMOTE_ADDR'] : '';
        return (string) apply_filters('largesse_visitor_address', $address);
    }
}
