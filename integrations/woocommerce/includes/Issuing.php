<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/**
 * Issues the gift cards that an order has bought, one for each of its quantity, when it is paid; and suspends them when it is
 * cancelled or refunded. Largesse sends them; the shop stores ids and last characters, never codes.
 */
final class Issuing
{
    public const TASK = 'largesse_issue_order';
    public const ISSUED = '_largesse_issued';
    private const RETRIES = [60, 300, 1800, 7200, 21600, 43200];

    public static function register(): void
    {
        // After the cards that pay for the order: it is on hold if one of them could not.
        add_action('woocommerce_order_status_changed', self::statusChanged(...), 30);
        add_action('woocommerce_order_refunded', self::statusChanged(...), 30);
        add_action(self::TASK, static fn(int $orderId, int $retry = 0) => self::follow($orderId, Client::forTask(), $retry), 10, 2);
        add_action('woocommerce_after_order_itemmeta', self::showForStaff(...), 10, 2);
    }

    public static function isGift(\WC_Order_Item_Product $item): bool
    {
        return CartGift::of($item) !== null;
    }

    public static function statusChanged(int $orderId): void
    {
        $order = wc_get_order($orderId);
        if ($order instanceof \WC_Order && self::giftsOf($order) !== []) {
            if ($order->get_meta(CartGift::ORDER_META) === '') {
                $order->update_meta_data(CartGift::ORDER_META, 'yes');
                $order->save_meta_data();
            }
            self::follow($orderId, Client::forCustomer());
        }
    }

    /** @return list<\WC_Order_Item_Product> */
    private static function giftsOf(\WC_Order $order): array
    {
        $products = array_filter($order->get_items(), static fn(mixed $item): bool => $item instanceof \WC_Order_Item_Product && self::isGift($item));
        return array_values($products);
    }

    /** Brings the cards of an order to what its status and refunds ask for. Never throws. */
    public static function follow(int $orderId, Client $client, int $retry = 0): void
    {
        try {
            Lock::order($orderId, static function () use ($orderId, $client): void {
                $order = wc_get_order($orderId);
                if (!$order instanceof \WC_Order) {
                    return;
                }
                foreach (self::giftsOf($order) as $item) {
                    $item->read_meta_data(true);
                    self::followItem($order, $item, $client);
                }
            });
        } catch (Unreachable | ServiceError $error) {
            Log::warning("Order $orderId: gift cards were not issued or suspended yet: " . $error->getMessage());
            $seconds = self::RETRIES[min($retry, count(self::RETRIES) - 1)];
            if (!as_has_scheduled_action(self::TASK, [$orderId, $retry + 1], 'largesse')) {
                as_schedule_single_action(time() + $seconds, self::TASK, [$orderId, $retry + 1], 'largesse');
            }
        }
    }

    private static function followItem(\WC_Order $order, \WC_Order_Item_Product $item, Client $client): void
    {
        $issued = self::issuedOf($item);
        foreach (self::stepsOf($order, $item) as $number => $step) {
            $known = $issued[$number] ?? null;
            if ($step === 'issue') {
                $issued[$number] = self::issue($order, $item, $number, $client);
            } elseif ($step === 'suspend') {
                $reason = 'WooCommerce order ' . $order->get_order_number() . ': ' . $order->get_status();
                $issued[$number]['state'] = self::change($known['card'], 'suspend', ['reason' => $reason], $client) ? 'suspended' : 'failed';
            } else {
                $issued[$number]['state'] = self::change($known['card'], 'resume', null, $client) ? 'issued' : 'failed';
            }
            $item->update_meta_data(self::ISSUED, $issued);
            $item->save_meta_data();
        }
    }

    /** Whether the money has arrived: an order that is paid at its delivery is `processing` before. */
    private static function isPaid(\WC_Order $order): bool
    {
        $onDelivery = (array) apply_filters('largesse_methods_paid_on_delivery', ['cod']);
        $isLate = in_array($order->get_payment_method(), $onDelivery, true) && !$order->has_status('completed');
        return !$isLate && in_array($order->get_status(), wc_get_is_paid_statuses(), true);
    }

    /** @return array<int, 'issue'|'suspend'|'resume'> by the numbers of the cards of a line, from 1 */
    private static function stepsOf(\WC_Order $order, \WC_Order_Item_Product $item): array
    {
        $isPaid = self::isPaid($order);
        $isEnded = in_array($order->get_status(), ['cancelled', 'failed', 'refunded', 'trash'], true);
        $bought = (int) $item->get_quantity();
        $valid = $isEnded ? 0 : max(0, $bought + (int) $order->get_qty_refunded_for_item($item->get_id()));
        $issued = self::issuedOf($item);
        $steps = [];
        for ($number = 1; $number <= $bought; $number += 1) {
            $known = $issued[$number] ?? null;
            if ($number <= $valid && $isPaid && ($known['card'] ?? 0) === 0) {
                $steps[$number] = 'issue';
            } elseif ($number > $valid && ($known['state'] ?? '') === 'issued') {
                $steps[$number] = 'suspend';
            } elseif ($number <= $valid && $isPaid && ($known['state'] ?? '') === 'suspended') {
                $steps[$number] = 'resume';
            }
        }
        return $steps;
    }

    /** @return list<string> what the cards that an order bought lack; a task does what can be repeated */
    public static function compare(\WC_Order $order): array
    {
        $missing = $valid = $rejected = 0;
        foreach (self::giftsOf($order) as $item) {
            $issued = self::issuedOf($item);
            foreach (self::stepsOf($order, $item) as $number => $step) {
                $missing += $step === 'issue' ? 1 : 0;
                $valid += $step === 'suspend' ? 1 : 0;
                $rejected += isset($issued[$number]) && $step === 'issue' ? 1 : 0;
            }
        }
        // A rejected card has a note, and would get another one every night.
        if ($missing + $valid > $rejected && !as_has_scheduled_action(self::TASK, [$order->get_id(), 0], 'largesse')) {
            as_schedule_single_action(time() + 5, self::TASK, [$order->get_id(), 0], 'largesse');
        }
        /* translators: %d: a number */
        $texts = $missing > 0 ? [sprintf(__('Gift cards that the order bought and that were not issued: %d.', 'largesse-gift-cards'), $missing)] : [];
        if ($valid > 0) {
            /* translators: %d: a number */
            $texts[] = sprintf(__('The order is cancelled or refunded. Gift cards that it bought and that are not suspended: %d.', 'largesse-gift-cards'), $valid);
        }
        return $texts;
    }

    /** @return array<int, array{card: int, last: string, state: string, error: string}> by their numbers, from 1 */
    public static function issuedOf(\WC_Order_Item_Product $item): array
    {
        $saved = $item->get_meta(self::ISSUED);
        return is_array($saved) ? array_filter($saved, static fn(array $card): bool => $card['card'] > 0 || $card['error'] !== '') : [];
    }

    /** @return array{card: int, last: string, state: string, error: string} */
    private static function issue(\WC_Order $order, \WC_Order_Item_Product $item, int $number, Client $client): array
    {
        $gift = CartGift::of($item) ?? throw new \UnexpectedValueException('the line sells no gift card');
        $optional = array_filter([
            'recipient_name' => $gift['recipient_name'],
            'recipient_email' => $gift['recipient_email'],
            'sender_name' => $gift['sender_name'],
            'message' => $gift['message'],
            'design' => $gift['design'],
            // A day that has passed while the order waited for its payment: the card is sent now.
            'send_on' => $gift['send_on'] > wp_date('Y-m-d') ? $gift['send_on'] : '',
            'email' => $order->get_billing_email(),
        ], static fn(string $text): bool => $text !== '');
        try {
            $response = $client->send('POST', '/gift_card', $optional + [
                'initial_value' => $gift['amount'],
                'currency' => $order->get_currency(),
                'note' => 'WooCommerce order ' . $order->get_order_number(),
                'external_id' => OrderCards::externalId($order->get_id(), 'item', (string) $item->get_id(), (string) $number),
            ]);
        } catch (ServiceError $error) {
            if ($error->status !== 422) {
                throw $error;
            }
            Log::error("Order {$order->get_id()}: a gift card was not issued: {$error->getMessage()} " . wp_json_encode(array_keys((array) ($error->problem['errors'] ?? []))));
            $order->add_order_note(__('A gift card of this order was not issued: Largesse rejected it. The log has the reason.', 'largesse-gift-cards'));
            return ['card' => 0, 'last' => '', 'state' => 'failed', 'error' => $error->problemCode];
        }
        $card = $response['gift_card'];
        Log::info("Order {$order->get_id()}: gift card …{$card['last_characters']} was issued");
        return ['card' => (int) $card['id'], 'last' => $card['last_characters'], 'state' => 'issued', 'error' => ''];
    }

    /** @param array<string, mixed>|null $body */
    private static function change(int $card, string $operation, ?array $body, Client $client): bool
    {
        try {
            $client->send('POST', "/gift_card/$card/$operation", $body);
            return true;
        } catch (ServiceError $error) {
            if ($error->status !== 422 && $error->status !== 404) {
                throw $error;
            }
            // A disabled card cannot be suspended, and needs not be.
            Log::warning("Gift card $card: $operation: " . $error->getMessage());
            return $operation === 'suspend';
        }
    }

    public static function showForStaff(int $itemId, mixed $item): void
    {
        if (!$item instanceof \WC_Order_Item_Product) {
            return;
        }
        foreach (self::issuedOf($item) as $number => $card) {
            $state = match ($card['state']) {
                'issued' => __('issued', 'largesse-gift-cards'),
                'suspended' => __('suspended', 'largesse-gift-cards'),
                default => __('failed', 'largesse-gift-cards') . " ({$card['error']})",
            };
            echo '<div>', esc_html(Settings::title() . " $number: " . ($card['last'] === '' ? '' : '…' . strtoupper($card['last']) . ', ') . $state), '</div>';
        }
    }
}
