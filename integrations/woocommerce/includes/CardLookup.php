<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Finds a card by the code that a visitor typed, which the service reads. Unknown codes are limited per visitor. */
final class CardLookup
{
    /** Longer texts are not codes for the service. */
    private const CODE_LENGTH_MAX = 700;

    /**
     * @return array<string, mixed> the card of the response
     * @throws Rejected with a text for the visitor
     */
    public static function byCode(string $typed): array
    {
        $code = trim($typed);
        if ($code === '' || strlen($code) > self::CODE_LENGTH_MAX) {
            throw self::notCode();
        }
        $visitor = new Visitor();
        $isUnknown = false;
        try {
            $visitor->reserveUnknown();
        } catch (Unreachable) {
            throw new Rejected(self::unavailable());
        }
        try {
            return self::send(Client::forVisitor($visitor), $code);
        } catch (ServiceError $error) {
            $isUnknown = $error->status === 404;
            if ($isUnknown) {
                throw new Rejected(__('There is no gift card with this code.', 'largesse-gift-cards'));
            }
            if (isset($error->problem['errors']['code'])) {
                throw self::notCode();
            }
            if ($error->problemCode === 'too-many-misses') {
                throw new Rejected(__('Too many unknown codes were entered. Try again in a few minutes.', 'largesse-gift-cards'));
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

    /**
     * While visitors have entered too many unknown codes, Largesse finds a code that the shop chose only with an address of the
     * card. It can reject an address that WooCommerce accepts.
     *
     * @return array<string, mixed>
     */
    private static function send(Client $client, string $code): array
    {
        $email = WC()->customer?->get_billing_email() ?: (is_user_logged_in() ? wp_get_current_user()->user_email : '');
        try {
            return $client->send('POST', '/gift_card/lookup', ['code' => $code] + ($email === '' ? [] : ['email' => $email]))['gift_card'];
        } catch (ServiceError $error) {
            if (!isset($error->problem['errors']['email'])) {
                throw $error;
            }
            return $client->send('POST', '/gift_card/lookup', ['code' => $code])['gift_card'];
        }
    }

    private static function notCode(): Rejected
    {
        return new Rejected(__('This is not the code of a gift card.', 'largesse-gift-cards'));
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
