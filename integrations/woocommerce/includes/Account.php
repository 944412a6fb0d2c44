<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/**
 * The page “Gift cards” of a customer's account: balances and movements of the cards whose codes the customer has entered. An
 * email address proves nothing here: anyone can open an account with any address.
 */
final class Account
{
    private const ENDPOINT = 'gift-cards';
    public const META = 'largesse_cards';
    private const CARDS_MAX = 20;
    private const RULES_OPTION = 'largesse_rules';

    public static function register(): void
    {
        add_action('init', self::addEndpoint(...));
        add_filter('woocommerce_get_query_vars', static fn(array $vars): array => $vars + [self::ENDPOINT => self::ENDPOINT]);
        add_filter('woocommerce_account_menu_items', self::addItem(...));
        add_filter('woocommerce_endpoint_' . self::ENDPOINT . '_title', static fn(): string => __('Gift cards', 'largesse-gift-cards'));
        add_action('woocommerce_account_' . self::ENDPOINT . '_endpoint', self::show(...));
        add_action('template_redirect', self::handle(...));
    }

    public static function addEndpoint(): void
    {
        add_rewrite_endpoint(self::ENDPOINT, EP_ROOT | EP_PAGES);
        if (get_option(self::RULES_OPTION) !== Plugin::VERSION) {
            flush_rewrite_rules(false);
            update_option(self::RULES_OPTION, Plugin::VERSION);
        }
    }

    /**
     * @param array<string, string> $items
     * @return array<string, string>
     */
    public static function addItem(array $items): array
    {
        $place = array_search('customer-logout', array_keys($items), true);
        $place = $place === false ? count($items) : $place;
        $own = [self::ENDPOINT => __('Gift cards', 'largesse-gift-cards')];
        return array_slice($items, 0, $place, true) + $own + array_slice($items, $place, null, true);
    }

    /** @return array<int, string> the last characters of the codes that the customer has entered, by the ids of the cards */
    private static function cards(): array
    {
        $saved = get_user_meta(get_current_user_id(), self::META, true);
        return is_array($saved) ? $saved : [];
    }

    /** @param array<int, string> $cards */
    private static function save(array $cards): void
    {
        update_user_meta(get_current_user_id(), self::META, $cards);
    }

    /**
     * Adds a card whose code the customer has entered, to the account that is signed in.
     *
     * @param array<string, mixed> $card of a response
     */
    public static function remember(array $card): void
    {
        if (is_user_logged_in()) {
            self::save(array_slice([$card['id'] => $card['last_characters']] + self::cards(), 0, self::CARDS_MAX, true));
        }
    }

    public static function handle(): void
    {
        if (!isset($_POST['largesse_account']) || !is_user_logged_in()) {
            return;
        }
        $sent = wp_unslash($_POST);
        $nonce = is_string($sent['_wpnonce'] ?? null) ? $sent['_wpnonce'] : '';
        if (wp_verify_nonce($nonce, 'largesse_account') === false) {
            return;
        }
        try {
            if ($sent['largesse_account'] === 'remove') {
                self::save(array_diff_key(self::cards(), [absint($sent['card'] ?? 0) => '']));
            } else {
                self::remember(CardLookup::byCode(is_string($sent['code'] ?? null) ? $sent['code'] : ''));
            }
        } catch (Rejected $rejected) {
            wc_add_notice($rejected->getMessage(), 'error');
        }
        wp_safe_redirect(wc_get_account_endpoint_url(self::ENDPOINT));
        exit;
    }

    public static function show(): void
    {
        $client = Client::forVisitor(new Visitor());
        try {
            foreach (self::cards() as $id => $last) {
                self::showCard($id, $last, $client);
            }
        } catch (Unreachable | ServiceError) {
            wc_print_notice(__('Gift cards cannot be shown at the moment.', 'largesse-gift-cards'), 'notice');
        }
        if (self::cards() === []) {
            echo '<p>', esc_html__('Enter the code of a gift card to see its balance here.', 'largesse-gift-cards'), '</p>';
        }
        echo '<form method="post"><p class="form-row"><label for="largesse-own-code">', esc_html__('Code of a gift card', 'largesse-gift-cards'), '</label> <input class="input-text" id="largesse-own-code" name="code" maxlength="700" autocomplete="off" required></p>';
        wp_nonce_field('largesse_account');
        echo '<button class="', esc_attr(Plugin::buttonClass()), '" name="largesse_account" value="add">', esc_html__('Add', 'largesse-gift-cards'), '</button></form>';
    }

    /** Shows a card, and forgets it if its code was replaced: a customer who has the new code can add it again. */
    private static function showCard(int $id, string $last, Client $client): void
    {
        try {
            $card = $client->send('GET', "/gift_cards/$id")['gift_card'];
            if ($card['last_characters'] !== $last) {
                self::save(array_diff_key(self::cards(), [$id => '']));
                return;
            }
            $entries = $client->send('GET', "/gift_card/$id/transactions?limit=10")['transactions'];
        } catch (ServiceError $error) {
            if ($error->status !== 404) {
                throw $error;
            }
            return;
        }
        $price = static fn(string $amount): string => wc_price((float) $amount, ['currency' => $card['currency']]);
        $state = in_array($card['state'], ['active', 'scheduled', 'empty'], true) ? '' : CardLookup::stateText($card['state']);
        echo '<h3>', esc_html(Totals::label($card['last_characters'])), '</h3><p>';
        /* translators: %s: an amount */
        echo wp_kses_post(sprintf(__('Balance: %s', 'largesse-gift-cards'), $price($card['balance']))), '<br>', esc_html($state);
        if ($card['expires_on'] !== null) {
            /* translators: %s: a day */
            echo '<br>', esc_html(sprintf(__('Valid until %s', 'largesse-gift-cards'), date_i18n(wc_date_format(), strtotime($card['expires_on']))));
        }
        echo '</p><table class="shop_table shop_table_responsive"><tbody>';
        foreach ($entries as $entry) {
            $text = self::entryText($entry['kind']) . ($entry['order_reference'] === null ? '' : ' ' . $entry['order_reference']);
            echo '<tr><td>', esc_html(date_i18n(wc_date_format(), strtotime($entry['created_at']))), '</td><td>', esc_html($text), '</td><td>', wp_kses_post($price($entry['amount'])), '</td></tr>';
        }
        echo '</tbody></table><form method="post"><input type="hidden" name="card" value="', esc_attr((string) $id), '">';
        wp_nonce_field('largesse_account', '_wpnonce', true);
        echo '<button class="', esc_attr(Plugin::buttonClass()), '" name="largesse_account" value="remove">', esc_html__('Remove from my account', 'largesse-gift-cards'), '</button></form>';
    }

    private static function entryText(string $kind): string
    {
        return match ($kind) {
            'issue' => __('Issued', 'largesse-gift-cards'),
            'debit', 'capture' => __('Paid', 'largesse-gift-cards'),
            'credit', 'top_up' => __('Topped up', 'largesse-gift-cards'),
            'reversal' => __('Given back', 'largesse-gift-cards'),
            default => __('Changed by the shop', 'largesse-gift-cards'),
        };
    }
}
