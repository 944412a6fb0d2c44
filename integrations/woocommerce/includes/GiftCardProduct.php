<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/**
 * A product whose customers choose an amount. Its price in lists is the smallest amount, which is not stored as a price: without
 * the plugin, WooCommerce would sell it as a simple product for this price, and no card would be issued.
 */
final class GiftCardProduct extends \WC_Product_Simple
{
    public const TYPE = 'largesse_gift_card';
    public const DESIGNS = ['plain', 'birthday', 'thank_you', 'wedding', 'baby', 'winter', 'well_done', 'love'];

    public static function register(): void
    {
        add_filter('product_type_selector', static fn(array $types): array => $types + [self::TYPE => __('Gift card (Largesse)', 'largesse-gift-cards')]);
        add_filter('woocommerce_product_class', static fn(string $class, string $type): string => $type === self::TYPE ? self::class : $class, 10, 2);
        add_action('woocommerce_product_options_general_product_data', self::showFields(...));
        add_action('woocommerce_admin_process_product_object', self::saveFields(...));
        // A discount on money would be a loop: the card pays for the next one.
        add_filter('woocommerce_coupon_get_items_to_apply', self::withoutGiftCards(...));
        add_filter('woocommerce_data_stores', static fn(array $stores): array => $stores + ['product-' . self::TYPE => 'WC_Product_Data_Store_CPT']);
    }

    public static function is(mixed $product): bool
    {
        return $product instanceof \WC_Product && $product->get_type() === self::TYPE;
    }

    /** The lines of a cart or an order that a coupon reduces. */
    public static function withoutGiftCards(mixed $items): mixed
    {
        return is_array($items) ? array_values(array_filter($items, static fn(mixed $item): bool => !self::is($item->product ?? null))) : $items;
    }

    public function get_type(): string
    {
        return self::TYPE;
    }

    public function get_virtual($context = 'view'): bool
    {
        return true;
    }

    public function supports($feature): bool
    {
        // The amount is chosen on the page of the product.
        return $feature !== 'ajax_add_to_cart' && parent::supports($feature);
    }

    public function add_to_cart_url(): string
    {
        return (string) $this->get_permalink();
    }

    public function add_to_cart_text(): string
    {
        return __('Choose an amount', 'largesse-gift-cards');
    }

    /** The amount of a line of the cart, else the smallest amount. */
    public function get_price($context = 'view')
    {
        $price = parent::get_price($context);
        return $context === 'view' && $price === '' ? $this->leastAmount() : $price;
    }

    /** The price before a reduction, which a gift card does not have. */
    public function get_regular_price($context = 'view')
    {
        return $context === 'view' ? $this->get_price() : parent::get_regular_price($context);
    }

    private function leastAmount(): string
    {
        $decimals = OrderCards::decimals();
        $own = $this->ownAmount();
        $amounts = $own === null ? $this->amounts() : [...$this->amounts(), $own['min']];
        $units = array_map(static fn(string $amount): int => Money::unitsOf($amount, $decimals), $amounts);
        return $units === [] ? '' : Money::decimalOf(min($units), $decimals);
    }

    public function get_price_html($deprecated = ''): string
    {
        $least = $this->get_price();
        if ($least === '') {
            return '';
        }
        /* translators: %s: the smallest amount */
        return wp_kses_post(sprintf(__('from %s', 'largesse-gift-cards'), wc_price((float) $least)));
    }

    /** @return list<string> decimal strings, in the order of the shop */
    public function amounts(): array
    {
        $saved = $this->get_meta('_largesse_amounts');
        return is_array($saved) ? array_values($saved) : [];
    }

    /** @return array{min: string, max: string}|null the limits of an own amount; null: only the listed amounts */
    public function ownAmount(): ?array
    {
        $min = (string) $this->get_meta('_largesse_own_min');
        $max = (string) $this->get_meta('_largesse_own_max');
        return $min === '' || $max === '' ? null : ['min' => $min, 'max' => $max];
    }

    /** Whether the product can be sold for the amount, in units. */
    public function sells(int $units): bool
    {
        $decimals = OrderCards::decimals();
        foreach ($this->amounts() as $amount) {
            if (Money::unitsOf($amount, $decimals) === $units) {
                return true;
            }
        }
        $own = $this->ownAmount();
        return $own !== null && $units >= Money::unitsOf($own['min'], $decimals) && $units <= Money::unitsOf($own['max'], $decimals);
    }

    public static function showFields(): void
    {
        $product = wc_get_product(get_the_ID());
        $card = $product instanceof self ? $product : null;
        echo '<div class="options_group show_if_', esc_attr(self::TYPE), '">';
        woocommerce_wp_text_input([
            'id' => '_largesse_amounts',
            'label' => __('Amounts', 'largesse-gift-cards'),
            'description' => __('Separate amounts by a semicolon: 25; 50; 100', 'largesse-gift-cards'),
            'value' => implode('; ', array_map(wc_format_localized_price(...), $card?->amounts() ?? [])),
        ]);
        woocommerce_wp_text_input(['id' => '_largesse_own_min', 'label' => __('Own amount: at least', 'largesse-gift-cards'), 'data_type' => 'price', 'value' => $card?->ownAmount()['min'] ?? '']);
        woocommerce_wp_text_input(['id' => '_largesse_own_max', 'label' => __('Own amount: at most', 'largesse-gift-cards'), 'data_type' => 'price', 'value' => $card?->ownAmount()['max'] ?? '']);
        // The fields of taxes are for simple products.
        echo '</div><script>jQuery("._tax_status_field").closest(".options_group").addClass("show_if_', esc_js(self::TYPE), '")</script>';
    }

    public static function saveFields(\WC_Product $product): void
    {
        if (!$product instanceof self) {
            return;
        }
        $sent = wp_unslash($_POST); // phpcs:ignore WordPress.Security.NonceVerification.Missing -- WooCommerce has checked it.
        $text = static fn(string $name): string => is_string($sent[$name] ?? null) ? $sent[$name] : '';
        $product->saveAmounts(explode(';', $text('_largesse_amounts')), $text('_largesse_own_min'), $text('_largesse_own_max'));
    }

    /** @param list<string> $typed as people write amounts */
    public function saveAmounts(array $typed, string $ownMin, string $ownMax): void
    {
        $decimals = OrderCards::decimals();
        $amountOf = static function (string $text) use ($decimals): ?string {
            $units = Money::unitsOfShop((float) wc_format_decimal(trim($text)), $decimals);
            return $units > 0 ? Money::decimalOf($units, $decimals) : null;
        };
        $isNew = $this->get_meta('_largesse_amounts') === '';
        $amounts = array_values(array_unique(array_filter(array_map($amountOf, $typed), is_string(...))));
        [$min, $max] = [$amountOf($ownMin), $amountOf($ownMax)];
        $hasOwn = $min !== null && $max !== null && Money::unitsOf($min, $decimals) <= Money::unitsOf($max, $decimals);
        $this->update_meta_data('_largesse_amounts', $amounts);
        $this->update_meta_data('_largesse_own_min', $hasOwn ? $min : '');
        $this->update_meta_data('_largesse_own_max', $hasOwn ? $max : '');
        $this->set_regular_price('');
        $this->set_sale_price('');
        $this->set_price('');
        if ($isNew) {
            // VAT of a multi-purpose card is due when it is redeemed. The shop can choose a tax for single-purpose cards.
            $this->set_tax_status('none');
        }
    }
}
