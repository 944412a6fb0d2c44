<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

use Automattic\WooCommerce\StoreApi\Exceptions\RouteException;
use Automattic\WooCommerce\StoreApi\Schemas\V1\CartSchema;

defined('ABSPATH') || exit;

/** The field for codes in the blocks of the cart and the checkout, through the Store API. */
final class Blocks
{
    public const NAMESPACE = 'largesse';

    public static function register(): void
    {
        add_action('woocommerce_blocks_loaded', self::extend(...));
        // The plugin can start after the blocks have loaded.
        if (did_action('woocommerce_blocks_loaded') > 0) {
            self::extend();
        }
        $register = static fn(object $registry) => $registry->register(new BlocksScript());
        add_action('woocommerce_blocks_cart_block_registration', $register);
        add_action('woocommerce_blocks_checkout_block_registration', $register);
    }

    public static function extend(): void
    {
        woocommerce_store_api_register_endpoint_data([
            'endpoint' => CartSchema::IDENTIFIER,
            'namespace' => self::NAMESPACE,
            'data_callback' => self::data(...),
            'schema_callback' => self::schema(...),
            'schema_type' => ARRAY_A,
        ]);
        woocommerce_store_api_register_update_callback(['namespace' => self::NAMESPACE, 'callback' => self::update(...)]);
    }

    /** @return array{cards: list<array<string, mixed>>, cards_total: int} amounts in the smallest unit, as in the rest of the cart */
    public static function data(): array
    {
        $paid = array_column(Totals::cart()['shares'], 'units', 'card');
        $decimals = OrderCards::decimals();
        $cards = [];
        foreach (SessionCards::all() as $card) {
            $cards[] = [
                'id' => $card['card'],
                'label' => Totals::label($card['last']),
                'amount' => $paid[$card['card']] ?? 0,
                'available' => Money::unitsOf($card['available'], $decimals),
            ];
        }
        return ['cards' => $cards, 'cards_total' => array_sum($paid)];
    }

    /** @return array<string, mixed> */
    public static function schema(): array
    {
        $integer = ['type' => 'integer', 'readonly' => true, 'context' => ['view', 'edit']];
        $card = ['id' => $integer, 'label' => ['type' => 'string'] + $integer, 'amount' => $integer, 'available' => $integer];
        return [
            'cards' => [
                'description' => 'Gift cards that pay for a part of the cart.',
                'type' => 'array',
                'readonly' => true,
                'context' => ['view', 'edit'],
                'items' => ['type' => 'object', 'properties' => $card],
            ],
            'cards_total' => $integer,
        ];
    }

    /**
     * @param array<string, mixed> $data `{action: 'add', code}` or `{action: 'remove', card}`
     * @throws RouteException with a text for the customer
     */
    public static function update(array $data): void
    {
        try {
            if (($data['action'] ?? '') === 'remove') {
                SessionCards::remove((int) ($data['card'] ?? 0));
            } else {
                SessionCards::add(is_string($data['code'] ?? null) ? $data['code'] : '');
            }
        } catch (Rejected $rejected) {
            throw new RouteException('largesse_gift_card', esc_html($rejected->getMessage()), 400);
        }
    }
}
