<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** WooCommerce → Settings → Integration → Largesse. */
final class SettingsPage extends \WC_Integration
{
    public static function register(): void
    {
        add_filter('woocommerce_integrations', static fn(array $known): array => [...$known, self::class]);
        add_action('wp_ajax_largesse_test', self::test(...));
    }

    public function __construct()
    {
        $this->id = 'largesse';
        $this->method_title = 'Largesse';
        $this->method_description = __('Gift cards: customers pay with them, and buy them.', 'largesse-gift-cards');
        $this->init_form_fields();
        $this->init_settings();
        add_action('woocommerce_update_options_integration_largesse', [$this, 'process_admin_options']);
    }

    public function init_form_fields(): void
    {
        $this->form_fields = [
            'url' => ['title' => __('URL of Largesse', 'largesse-gift-cards'), 'type' => 'url', 'placeholder' => 'https://cards.example.com', 'default' => ''],
            'token' => [
                'title' => __('Access token', 'largesse-gift-cards'),
                'type' => 'password',
                'default' => '',
                'description' => __('Its scopes: read_gift_cards, redeem_gift_cards, and write_gift_cards to sell gift cards. The constants LARGESSE_URL and LARGESSE_TOKEN of wp-config.php replace both fields.', 'largesse-gift-cards'),
            ],
            'test' => ['title' => __('Connection', 'largesse-gift-cards'), 'type' => 'largesse_test'],
            'checkout_title' => ['title' => __('Name in the shop', 'largesse-gift-cards'), 'type' => 'text', 'default' => '', 'placeholder' => __('Gift card', 'largesse-gift-cards')],
            'pays_for_cards' => ['title' => __('Gift cards pay for gift cards', 'largesse-gift-cards'), 'type' => 'checkbox', 'label' => __('Allow', 'largesse-gift-cards'), 'default' => 'no'],
            'order_days' => [
                'title' => __('Days for a waiting order', 'largesse-gift-cards'),
                'type' => 'number',
                'default' => '7',
                'custom_attributes' => ['min' => 1, 'max' => 90],
                'description' => __('An order on hold, for example until a bank transfer, reserves the amounts on its gift cards for this time. The limit of the store in Largesse applies.', 'largesse-gift-cards'),
            ],
        ];
    }

    public function process_admin_options(): bool
    {
        $saved = parent::process_admin_options();
        Settings::confirmShop();
        Circuit::worked();
        return $saved;
    }

    /** @param array<string, mixed> $data */
    public function generate_largesse_test_html(string $key, array $data): string
    {
        $script = 'const b=document.getElementById("largesse-test"),o=b.nextElementSibling;b.addEventListener("click",async()=>{o.textContent="…";try{const r=await fetch(ajaxurl,{method:"POST",credentials:"same-origin",body:new URLSearchParams({action:"largesse_test",nonce:b.dataset.nonce})});o.textContent=(await r.json()).data}catch(e){o.textContent=String(e)}})';
        return sprintf(
            '<tr><th scope="row">%s</th><td><button type="button" class="button" id="largesse-test" data-nonce="%s">%s</button> <span role="status"></span><p class="description">%s</p><script>%s</script></td></tr>',
            esc_html($data['title']),
            esc_attr(wp_create_nonce('largesse_test')),
            esc_html__('Test the connection', 'largesse-gift-cards'),
            esc_html__('Save the settings first.', 'largesse-gift-cards'),
            $script,
        );
    }

    public static function test(): void
    {
        check_ajax_referer('largesse_test', 'nonce');
        if (!current_user_can('manage_woocommerce')) {
            wp_send_json_error('', 403);
        }
        $problems = self::problems();
        wp_send_json_success($problems === [] ? __('Connected: customers can pay with gift cards, and buy them.', 'largesse-gift-cards') : implode(' ', $problems));
    }

    /** @return list<string> what does not work, for staff */
    public static function problems(): array
    {
        if (!Settings::isConfigured()) {
            return [__('Enter the URL and the token, and save the settings.', 'largesse-gift-cards')];
        }
        $client = Client::forStaff();
        try {
            $client->send('GET', '/holds?limit=1');
        } catch (ServiceError $error) {
            return [match ($error->status) {
                401 => __('Largesse rejects the token.', 'largesse-gift-cards'),
                403 => __('The token lacks the scope read_gift_cards.', 'largesse-gift-cards'),
                default => $error->getMessage(),
            }];
        } catch (Unreachable $error) {
            return [__('Largesse does not respond:', 'largesse-gift-cards') . ' ' . $error->getMessage()];
        }
        return [...self::problemsOfPaying($client), ...self::problemsOfSelling($client), ...self::problemsOfVisitors()];
    }

    /** @return list<string> */
    private static function problemsOfVisitors(): array
    {
        $proxy = Visitor::proxy();
        /* translators: %s: an address */
        $text = __('All visitors have the address of the proxy before the shop (%s), so they share the limit of unknown codes. Let the web server set the address of the visitor, or use the filter largesse_visitor_address.', 'largesse-gift-cards');
        return $proxy === null ? [] : [sprintf($text, $proxy)];
    }

    /** @return list<string> */
    private static function problemsOfPaying(Client $client): array
    {
        try {
            // No such hold exists.
            $client->send('POST', '/holds/9007199254740991/extend', ['expires_in' => 60]);
        } catch (ServiceError $error) {
            return $error->status === 403 ? [__('The token lacks the scope redeem_gift_cards: customers cannot pay.', 'largesse-gift-cards')] : [];
        } catch (Unreachable $error) {
            return [$error->getMessage()];
        }
        return [];
    }

    /** @return list<string> */
    private static function problemsOfSelling(Client $client): array
    {
        try {
            $client->send('POST', '/gift_card?dry_run=true', ['initial_value' => '1', 'currency' => get_woocommerce_currency()]);
        } catch (ServiceError $error) {
            if ($error->status === 403) {
                return [__('The token lacks the scope write_gift_cards: gift cards cannot be sold.', 'largesse-gift-cards')];
            }
            if (isset($error->problem['errors']['currency'])) {
                /* translators: %s: a currency */
                return [sprintf(__('The store in Largesse has another currency than %s.', 'largesse-gift-cards'), get_woocommerce_currency())];
            }
            return [$error->getMessage()];
        } catch (Unreachable $error) {
            return [$error->getMessage()];
        }
        return [];
    }
}
