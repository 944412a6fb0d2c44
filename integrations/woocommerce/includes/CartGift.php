<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

use Automattic\WooCommerce\StoreApi\Exceptions\RouteException;

defined('ABSPATH') || exit;

/**
 * The choices of a customer for a gift card: the form on the page of the product, the line in the cart and in the order.
 *
 * @phpstan-type Gift array{amount: string, recipient_name: string, recipient_email: string, sender_name: string, message: string, send_on: string, design: string}
 */
final class CartGift
{
    public const KEY = 'largesse_gift';
    public const META = '_largesse_gift';
    /** A field of an order that has such lines. */
    public const ORDER_META = '_largesse_gifts';
    /** The bytes of a field that are read: a message can have 1000 characters. */
    private const SENT_MAX = 8000;

    /** Whether this request sent a form with a mistake. */
    private static bool $isMistaken = false;

    public static function register(): void
    {
        add_action('woocommerce_' . GiftCardProduct::TYPE . '_add_to_cart', self::showForm(...));
        add_filter('woocommerce_add_to_cart_validation', self::validate(...), 10, 2);
        add_filter('woocommerce_add_cart_item_data', self::add(...), 10, 2);
        add_action('woocommerce_store_api_validate_add_to_cart', self::validateStoreApi(...));
        add_action('woocommerce_before_calculate_totals', self::setPrices(...), 5);
        add_filter('woocommerce_get_item_data', self::describe(...), 10, 2);
        add_action('woocommerce_checkout_create_order_line_item', self::addToOrder(...), 10, 4);
        add_action('woocommerce_privacy_remove_order_personal_data', self::erase(...));
    }

    public static function showForm(): void
    {
        global $product;
        if (!$product instanceof GiftCardProduct || !$product->is_purchasable()) {
            return;
        }
        $amounts = [];
        foreach ($product->amounts() as $amount) {
            $amounts[$amount] = html_entity_decode(wp_strip_all_tags(wc_price((float) $amount)), ENT_QUOTES, 'UTF-8');
        }
        $own = $product->ownAmount();
        if ($own !== null) {
            $amounts['own'] = __('Own amount', 'largesse-gift-cards');
        }
        $today = wp_date('Y-m-d');
        echo '<form class="cart" method="post" enctype="multipart/form-data">';
        self::showField('largesse_amount', ['type' => 'select', 'label' => __('Amount', 'largesse-gift-cards'), 'required' => true, 'options' => $amounts]);
        if ($own !== null) {
            /* translators: 1: an amount, 2: an amount */
            $label = sprintf(__('Own amount, %1$s to %2$s', 'largesse-gift-cards'), wp_strip_all_tags(wc_price((float) $own['min'])), wp_strip_all_tags(wc_price((float) $own['max'])));
            self::showField('largesse_own_amount', ['type' => 'text', 'label' => html_entity_decode($label, ENT_QUOTES, 'UTF-8'), 'custom_attributes' => ['inputmode' => 'decimal']]);
        }
        self::showField('largesse_recipient_name', ['type' => 'text', 'label' => __('Name of the recipient', 'largesse-gift-cards'), 'maxlength' => 100]);
        self::showField('largesse_recipient_email', ['type' => 'email', 'label' => __('Email of the recipient', 'largesse-gift-cards'), 'description' => __('Without it, the card is sent to you.', 'largesse-gift-cards')]);
        self::showField('largesse_sender_name', ['type' => 'text', 'label' => __('Your name', 'largesse-gift-cards'), 'maxlength' => 100]);
        self::showField('largesse_message', ['type' => 'textarea', 'label' => __('Message', 'largesse-gift-cards'), 'maxlength' => 1000]);
        self::showField('largesse_send_on', ['type' => 'date', 'label' => __('Day of delivery', 'largesse-gift-cards'), 'custom_attributes' => ['min' => $today]]);
        self::showField('largesse_design', ['type' => 'select', 'label' => __('Design', 'largesse-gift-cards'), 'options' => ['' => __('Of the shop', 'largesse-gift-cards')] + self::designs()]);
        woocommerce_quantity_input(['min_value' => 1, 'max_value' => 100], $product);
        $class = 'single_add_to_cart_button alt ' . Plugin::buttonClass();
        printf('<button type="submit" name="add-to-cart" value="%d" class="%s">%s</button></form>', (int) $product->get_id(), esc_attr($class), esc_html($product->single_add_to_cart_text()));
    }

    /** A form with a mistake is shown again with what the customer typed. @param array<string, mixed> $field */
    private static function showField(string $name, array $field): void
    {
        woocommerce_form_field($name, $field, self::$isMistaken ? self::sentText($name, self::SENT_MAX) : null);
    }

    /** The text of a field of the form. */
    private static function sentText(string $name, int $max): string
    {
        $sent = $_POST[$name] ?? null; // phpcs:ignore WordPress.Security.NonceVerification.Missing -- a cart is changed without one.
        return is_string($sent) && strlen($sent) <= self::SENT_MAX ? mb_substr((string) wp_unslash($sent), 0, $max) : '';
    }

    /** @return array<string, string> */
    private static function designs(): array
    {
        return [
            'plain' => __('Plain', 'largesse-gift-cards'),
            'birthday' => __('Birthday', 'largesse-gift-cards'),
            'thank_you' => __('Thank you', 'largesse-gift-cards'),
            'wedding' => __('Wedding', 'largesse-gift-cards'),
            'baby' => __('Baby', 'largesse-gift-cards'),
            'winter' => __('Winter', 'largesse-gift-cards'),
            'well_done' => __('Well done', 'largesse-gift-cards'),
            'love' => __('Love', 'largesse-gift-cards'),
        ];
    }

    /**
     * @return Gift
     * @throws Rejected
     */
    private static function read(GiftCardProduct $product): array
    {
        $line = static fn(string $name, int $max): string => mb_substr(trim((string) preg_replace('/[\p{C}\s]+/u', ' ', self::sentText($name, self::SENT_MAX))), 0, $max);
        $decimals = OrderCards::decimals();
        $typed = $line('largesse_amount', 20);
        $typed = $typed === 'own' ? $line('largesse_own_amount', 20) : $typed;
        $units = Money::unitsOfShop((float) wc_format_decimal($typed), $decimals);
        if ($units <= 0 || !$product->sells($units)) {
            throw new Rejected(__('Choose an amount for the gift card.', 'largesse-gift-cards'));
        }
        $email = $line('largesse_recipient_email', 254);
        if ($email !== '' && !is_email($email)) {
            throw new Rejected(__('The email of the recipient is not valid.', 'largesse-gift-cards'));
        }
        $day = $line('largesse_send_on', 10);
        if ($day !== '' && (preg_match('/^\d{4}-\d{2}-\d{2}$/', $day) !== 1 || $day < wp_date('Y-m-d') || $day > wp_date('Y-m-d', time() + 364 * DAY_IN_SECONDS))) {
            throw new Rejected(__('The day of delivery must be within a year.', 'largesse-gift-cards'));
        }
        $message = str_replace("\r\n", "\n", self::sentText('largesse_message', self::SENT_MAX));
        $message = mb_substr(trim((string) preg_replace('/[^\P{C}\n\t]/u', '', $message)), 0, 1000);
        $design = $line('largesse_design', 20);
        $names = ['recipient_name' => $line('largesse_recipient_name', 100), 'sender_name' => $line('largesse_sender_name', 100)];
        if (array_filter([$message, ...array_values($names)], BuyerText::hasLink(...)) !== []) {
            throw new Rejected(__('Links, web addresses and @ are not possible. Put a space after each full stop.', 'largesse-gift-cards'));
        }
        $currencies = array_keys(get_woocommerce_currencies());
        if (array_filter($names, static fn(string $name): bool => BuyerText::hasNumber($name, $currencies)) !== []) {
            throw new Rejected(__('A name cannot contain a phone number or an amount.', 'largesse-gift-cards'));
        }
        return [
            'amount' => Money::decimalOf($units, $decimals),
            'recipient_name' => $names['recipient_name'],
            'recipient_email' => $email,
            'sender_name' => $names['sender_name'],
            'message' => $message,
            'send_on' => $day,
            'design' => in_array($design, GiftCardProduct::DESIGNS, true) ? $design : '',
        ];
    }

    public static function validate(mixed $passed, mixed $productId): mixed
    {
        $product = wc_get_product((int) $productId);
        if (!$passed || !$product instanceof GiftCardProduct) {
            return $passed;
        }
        try {
            self::read($product);
            return $passed;
        } catch (Rejected $rejected) {
            self::$isMistaken = true;
            wc_add_notice($rejected->getMessage(), 'error');
            return false;
        }
    }

    /**
     * The gift card that a line of an order sells. Staff and other programs add lines without the form: the amount is their price.
     *
     * @return Gift|null null: it is not a gift card
     */
    public static function of(\WC_Order_Item_Product $item): ?array
    {
        $gift = $item->get_meta(self::META);
        if (is_array($gift)) {
            return $gift;
        }
        $quantity = (int) $item->get_quantity();
        if ($quantity <= 0 || !GiftCardProduct::is($item->get_product())) {
            return null;
        }
        $decimals = OrderCards::decimals();
        $units = Money::unitsOfShop((float) $item->get_subtotal() / $quantity, $decimals);
        return ['amount' => Money::decimalOf($units, $decimals), 'recipient_name' => '', 'recipient_email' => '', 'sender_name' => '', 'message' => '', 'send_on' => '', 'design' => ''];
    }

    public static function validateStoreApi(\WC_Product $product): void
    {
        if ($product instanceof GiftCardProduct) {
            throw new RouteException('largesse_gift_card', esc_html__('Choose an amount for the gift card on its page.', 'largesse-gift-cards'), 400);
        }
    }

    /**
     * @param array<string, mixed> $data
     * @return array<string, mixed>
     */
    public static function add(array $data, mixed $productId): array
    {
        $product = wc_get_product((int) $productId);
        return $product instanceof GiftCardProduct ? $data + [self::KEY => self::read($product)] : $data;
    }

    public static function setPrices(\WC_Cart $cart): void
    {
        foreach ($cart->get_cart() as $item) {
            if (isset($item[self::KEY]) && $item['data'] instanceof \WC_Product) {
                $item['data']->set_price($item[self::KEY]['amount']);
            }
        }
    }

    /** WooCommerce removes an address between angle brackets. @param Gift $gift */
    private static function recipientOf(array $gift): string
    {
        [$name, $email] = [$gift['recipient_name'], $gift['recipient_email']];
        return $name === '' || $email === '' ? $name . $email : "$name ($email)";
    }

    /**
     * @param Gift $gift
     * @return array<string, string> by their labels
     */
    private static function texts(array $gift): array
    {
        return array_filter([
            __('Recipient', 'largesse-gift-cards') => self::recipientOf($gift),
            __('From', 'largesse-gift-cards') => $gift['sender_name'],
            __('Message', 'largesse-gift-cards') => $gift['message'],
            __('Day of delivery', 'largesse-gift-cards') => $gift['send_on'],
            __('Design', 'largesse-gift-cards') => self::designs()[$gift['design']] ?? '',
        ]);
    }

    /**
     * @param list<array<string, string>> $rows
     * @param array<string, mixed> $item
     * @return list<array<string, string>>
     */
    public static function describe(array $rows, array $item): array
    {
        foreach (isset($item[self::KEY]) ? self::texts($item[self::KEY]) : [] as $label => $text) {
            $rows[] = ['key' => $label, 'value' => $text, 'display' => esc_html($text)];
        }
        return $rows;
    }

    /** Erases names, addresses and messages with the other personal data of an order. */
    public static function erase(\WC_Order $order): void
    {
        foreach ($order->get_items() as $item) {
            $gift = $item->get_meta(self::META);
            if (!is_array($gift)) {
                continue;
            }
            foreach ($item->get_meta_data() as $meta) {
                if (!str_starts_with($meta->key, '_')) {
                    $item->delete_meta_data($meta->key);
                }
            }
            $kept = ['amount' => $gift['amount'], 'send_on' => $gift['send_on'], 'design' => $gift['design']];
            $item->update_meta_data(self::META, $kept + array_fill_keys(array_keys($gift), ''));
            $item->save();
        }
    }

    /** @param array<string, mixed> $values */
    public static function addToOrder(\WC_Order_Item_Product $item, string $key, array $values, \WC_Order $order): void
    {
        if (!isset($values[self::KEY])) {
            return;
        }
        // The comparison finds the order by it.
        $order->update_meta_data(self::ORDER_META, 'yes');
        $item->add_meta_data(self::META, $values[self::KEY], true);
        foreach (self::texts($values[self::KEY]) as $label => $text) {
            $item->add_meta_data($label, $text);
        }
    }
}
