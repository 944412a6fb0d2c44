<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** The box “Gift cards” of an order in the administration: what each card paid, refunds, and amounts that failed. */
final class OrderBox
{
    public static function register(): void
    {
        Refunding::register();
        add_action('add_meta_boxes', self::add(...), 10, 2);
        add_action('admin_enqueue_scripts', self::enqueue(...));
        add_action('wp_ajax_largesse_order', self::handle(...));
    }

    private static function orderOf(mixed $post): ?\WC_Order
    {
        $order = $post instanceof \WP_Post ? wc_get_order($post->ID) : $post;
        return $order instanceof \WC_Order ? $order : null;
    }

    public static function add(string $screen, mixed $post = null): void
    {
        $order = self::orderOf($post);
        if ($order === null || OrderCards::of($order)->rows === []) {
            return;
        }
        add_meta_box('largesse-gift-cards', __('Gift cards', 'largesse-gift-cards'), self::show(...), $screen, 'normal', 'high');
    }

    public static function enqueue(): void
    {
        $screen = get_current_screen();
        if ($screen !== null && in_array($screen->id, ['shop_order', wc_get_page_screen_id('shop-order')], true)) {
            wp_enqueue_script('largesse-order', Plugin::url('order.js'), [], Plugin::VERSION, true);
        }
    }

    private static function stateText(string $state): string
    {
        return match ($state) {
            'captured' => __('paid', 'largesse-gift-cards'),
            'held' => __('reserved', 'largesse-gift-cards'),
            'failed' => __('could not be collected', 'largesse-gift-cards'),
            'released' => __('released', 'largesse-gift-cards'),
            default => __('in progress', 'largesse-gift-cards'),
        };
    }

    public static function show(mixed $post): void
    {
        $order = self::orderOf($post);
        if ($order === null) {
            return;
        }
        $cards = OrderCards::latest($order);
        $isRefundable = $cards->refundableUnits() > 0;
        $head = [__('Gift card', 'largesse-gift-cards'), __('Amount', 'largesse-gift-cards'), __('State', 'largesse-gift-cards'), __('Given back', 'largesse-gift-cards'), ''];
        echo '<div id="largesse-order" data-order="', esc_attr((string) $order->get_id()), '" data-nonce="', esc_attr(wp_create_nonce('largesse_order')), '">';
        echo '<table class="widefat striped"><thead><tr>';
        foreach ($head as $text) {
            echo '<th>', esc_html($text), '</th>';
        }
        echo '</tr></thead><tbody>';
        foreach ($cards->rows as $row) {
            self::showRow($row, $cards);
        }
        echo '</tbody></table>';
        if ($isRefundable) {
            self::showRefund($cards);
        }
        echo '<p class="largesse-message" role="status"></p></div>';
    }

    /** @param array<string, mixed> $row */
    private static function showRow(array $row, OrderCards $cards): void
    {
        $decimals = OrderCards::decimals();
        $refunded = Money::unitsOf($row['amount'], $decimals) - $cards->refundableUnits($row['card']);
        $refunded = $row['state'] === 'captured' ? Money::decimalOf(max(0, $refunded), $decimals) : '0';
        echo '<tr><td>', esc_html(Totals::label($row['last'])), '</td>';
        echo '<td>', esc_html(Capturing::priceOf($row['amount'], $cards->order)), '</td>';
        echo '<td>', esc_html(self::stateText($row['state']) . ($row['error'] === '' ? '' : " ({$row['error']})")), '</td>';
        echo '<td>', esc_html(Capturing::priceOf($refunded, $cards->order)), '</td><td>';
        if ($row['state'] !== 'captured') {
            if (in_array($row['state'], ['failed', 'released'], true)) {
                self::showButton('retry', (int) $row['card'], __('Try again', 'largesse-gift-cards'));
            }
            self::showButton('remove', (int) $row['card'], __('Take off the order', 'largesse-gift-cards'));
        }
        echo '</td></tr>';
    }

    private static function showButton(string $action, int $card, string $text): void
    {
        printf('<button type="button" class="button" data-largesse="%s" data-card="%d">%s</button> ', esc_attr($action), $card, esc_html($text));
    }

    private static function showRefund(OrderCards $cards): void
    {
        $order = $cards->order;
        $decimals = OrderCards::decimals();
        echo '<h4>', esc_html__('Refund', 'largesse-gift-cards'), '</h4>';
        echo '<p>', esc_html__('Enter what is given back to each gift card and to the other payment method. Quantities are optional; with them, the amounts must be what the items cost.', 'largesse-gift-cards'), '</p><table>';
        foreach ($cards->rows as $row) {
            if ($row['state'] === 'captured') {
                $max = Money::decimalOf($cards->refundableUnits($row['card']), $decimals);
                self::showNumber("cards[{$row['card']}]", Totals::label($row['last']), $max, $decimals);
            }
        }
        $rest = Money::decimalOf(Money::unitsOfShop($order->get_remaining_refund_amount(), $decimals), $decimals);
        if ((float) $rest > 0) {
            $title = $order->get_payment_method_title() ?: __('Other payment method', 'largesse-gift-cards');
            self::showNumber('other', $title, $rest, $decimals);
        }
        foreach ($order->get_items(['line_item', 'fee', 'shipping']) as $id => $item) {
            $left = $item instanceof \WC_Order_Item_Product ? $item->get_quantity() + $order->get_qty_refunded_for_item($id) : 1;
            if ($left > 0) {
                self::showNumber("items[$id]", __('Quantity', 'largesse-gift-cards') . ': ' . $item->get_name(), (string) $left, 0);
            }
        }
        echo '<tr><td><label for="largesse-reason">', esc_html__('Reason', 'largesse-gift-cards'), '</label></td><td><input id="largesse-reason" name="reason" maxlength="500"></td></tr></table>';
        $gateway = wc_get_payment_gateway_by_order($order);
        if ($gateway instanceof \WC_Payment_Gateway && (float) $rest > 0 && $gateway->can_refund_order($order)) {
            echo '<p><label><input type="checkbox" name="gateway" value="1" checked> ';
            /* translators: %s: the name of a payment method */
            echo esc_html(sprintf(__('Refund the other part through %s', 'largesse-gift-cards'), $gateway->get_method_title())), '</label></p>';
        }
        echo '<p><label><input type="checkbox" name="restock" value="1" checked> ', esc_html__('Put the items back in stock', 'largesse-gift-cards'), '</label></p>';
        self::showButton('refund', 0, __('Refund', 'largesse-gift-cards'));
    }

    private static function showNumber(string $name, string $label, string $max, int $decimals): void
    {
        $id = 'largesse-' . sanitize_html_class($name);
        $step = $decimals === 0 ? '1' : '0.' . str_repeat('0', $decimals - 1) . '1';
        printf(
            '<tr><td><label for="%1$s">%2$s</label></td><td><input type="number" id="%1$s" name="%3$s" min="0" max="%4$s" step="%5$s" placeholder="0"> ≤ %4$s</td></tr>',
            esc_attr($id),
            esc_html($label),
            esc_attr($name),
            esc_attr($max),
            esc_attr($step),
        );
    }

    public static function handle(): void
    {
        check_ajax_referer('largesse_order', 'nonce');
        if (!current_user_can('edit_shop_orders')) {
            wp_send_json_error(['message' => __('You are not allowed to edit orders.', 'largesse-gift-cards')], 403);
        }
        $sent = wp_unslash($_POST);
        $orderId = absint($sent['order'] ?? 0);
        try {
            match ($sent['do'] ?? '') {
                'refund' => Refunding::refund($orderId, self::requestOf($sent)),
                'retry' => self::retry($orderId),
                'remove' => self::remove($orderId, absint($sent['card'] ?? 0)),
                default => throw new Rejected('?'),
            };
            wp_send_json_success();
        } catch (Rejected $rejected) {
            wp_send_json_error(['message' => $rejected->getMessage()], 422);
        }
    }

    /**
     * @param array<string, mixed> $sent
     * @return array{cards: array<int, int>, other: int, items: array<int, float>, gateway: bool, restock: bool, reason: string}
     * @throws Rejected
     */
    private static function requestOf(array $sent): array
    {
        $units = static function (mixed $typed): int {
            $text = is_string($typed) ? trim($typed) : '';
            $text = $text === '' ? '0' : $text;
            $decimals = OrderCards::decimals();
            if (preg_match('/^\d{1,12}(\.\d+)?$/', $text) !== 1 || strlen(rtrim(explode('.', $text)[1] ?? '', '0')) > $decimals) {
                throw new Rejected(__('An amount cannot be read.', 'largesse-gift-cards'));
            }
            return Money::unitsOfShop($text, $decimals);
        };
        $list = static fn(mixed $value): array => is_array($value) ? $value : [];
        return [
            'cards' => array_filter(array_map($units, $list($sent['cards'] ?? []))),
            'other' => $units($sent['other'] ?? ''),
            'items' => array_filter(array_map(static fn(mixed $typed): float => is_numeric($typed) ? (float) $typed : 0.0, $list($sent['items'] ?? []))),
            'gateway' => ($sent['gateway'] ?? '') === '1',
            'restock' => ($sent['restock'] ?? '') === '1',
            'reason' => sanitize_text_field(is_string($sent['reason'] ?? null) ? $sent['reason'] : ''),
        ];
    }

    private static function retry(int $orderId): void
    {
        $order = wc_get_order($orderId);
        if ($order instanceof \WC_Order) {
            Settlement::tryAgain($orderId);
        }
    }

    /** Takes a card off an order that it has not paid. The rest of the order becomes due. @throws Rejected */
    private static function remove(int $orderId, int $card): void
    {
        try {
            Lock::order($orderId, static function () use ($orderId, $card): void {
                $cards = OrderCards::stored($orderId);
                if ($cards === null) {
                    return;
                }
                $order = $cards->order;
                $gross = Totals::grossOf($order, $cards);
                foreach ($cards->rows as $index => $row) {
                    if ($row['card'] === $card && $row['state'] !== 'captured') {
                        if ($row['external'] !== '' && in_array($row['state'], ['held', 'holding'], true)) {
                            $cards->dropped[] = $row['external'];
                        }
                        unset($cards->rows[$index]);
                        /* translators: %s: the name of a gift card */
                        $order->add_order_note(sprintf(__('%s was taken off the order.', 'largesse-gift-cards'), Totals::label($row['last'])));
                    }
                }
                $cards->rows = array_values($cards->rows);
                $cards->set();
                Totals::setTotal($order, $gross, $cards);
                $order->save();
            });
        } catch (Unreachable $error) {
            throw new Rejected($error->getMessage());
        }
        Settlement::follow($orderId, Client::forStaff());
    }
}
