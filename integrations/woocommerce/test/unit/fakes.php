<?php
/** The parts of WordPress and WooCommerce that the tests need, in memory. */

declare(strict_types=1);

const ABSPATH = '/';
const DB_NAME = 'test';
const MINUTE_IN_SECONDS = 60;
const HOUR_IN_SECONDS = 3600;
const DAY_IN_SECONDS = 86400;
const LARGESSE_FILE = __DIR__ . '/../../largesse-gift-cards.php';

spl_autoload_register(static function (string $class): void {
    $prefix = 'Largesse\\WooCommerce\\';
    if (str_starts_with($class, $prefix)) {
        require __DIR__ . '/../../includes/' . substr($class, strlen($prefix)) . '.php';
    }
});

final class Fakes
{
    /** @var array<string, mixed> */
    public static array $options = [];
    /** @var array<string, mixed> */
    public static array $transients = [];
    /** @var array<string, list<array{int, int, callable, int}>> */
    public static array $hooks = [];
    /** @var array<int, array<string, mixed>> What is stored of each order. */
    public static array $orders = [];
    /** @var list<array{string, array<mixed>}> */
    public static array $scheduled = [];
    /** @var list<string> */
    public static array $log = [];
    /** @var array<string, mixed> */
    public static array $session = [];
    public static ?FakeLargesse $largesse = null;
    public static int $decimals = 2;
    /** The account that is signed in; 0: none. */
    public static int $user = 0;
    public static string $billingEmail = '';
    /** @var array<string, mixed> */
    public static array $userMeta = [];
    /** @var list<string> */
    public static array $notices = [];
    /** @var null|callable(string, array<string, mixed>): mixed */
    public static $transport = null;

    public static function reset(): void
    {
        self::$options = ['home' => 'https://shop.example', 'woocommerce_largesse_settings' => ['url' => 'https://cards.example/', 'token' => 'secret-token']];
        self::$transients = self::$hooks = self::$orders = self::$scheduled = self::$log = self::$session = [];
        self::$decimals = 2;
        self::$user = 0;
        self::$billingEmail = '';
        self::$userMeta = self::$notices = [];
        self::$largesse = new FakeLargesse();
        self::$transport = null;
        \Largesse\WooCommerce\Settings::confirmShop();
        \Largesse\WooCommerce\Settlement::register();
        \Largesse\WooCommerce\Totals::register();
        \Largesse\WooCommerce\Refunding::register();
    }
}

if (!function_exists('mb_substr')) {
    // WordPress does the same where PHP lacks this extension.
    function mb_substr(string $text, int $start, ?int $length = null): string
    {
        return implode('', array_slice(preg_split('//u', $text, -1, PREG_SPLIT_NO_EMPTY), $start, $length));
    }
}

function add_filter(string $name, callable $callback, int $priority = 10, int $arguments = 1): void
{
    Fakes::$hooks[$name][] = [$priority, count(Fakes::$hooks[$name] ?? []), $callback, $arguments];
    usort(Fakes::$hooks[$name], static fn(array $one, array $other): int => [$one[0], $one[1]] <=> [$other[0], $other[1]]);
}

function add_action(string $name, callable $callback, int $priority = 10, int $arguments = 1): void
{
    add_filter($name, $callback, $priority, $arguments);
}

function apply_filters(string $name, mixed $value, mixed ...$more): mixed
{
    foreach (Fakes::$hooks[$name] ?? [] as [, , $callback, $arguments]) {
        $value = $callback(...array_slice([$value, ...$more], 0, $arguments));
    }
    return $value;
}

function do_action(string $name, mixed ...$arguments): void
{
    foreach (Fakes::$hooks[$name] ?? [] as [, , $callback, $count]) {
        $callback(...array_slice($arguments, 0, $count));
    }
}

function get_option(string $name, mixed $default = false): mixed
{
    return Fakes::$options[$name] ?? $default;
}

function update_option(string $name, mixed $value): void
{
    Fakes::$options[$name] = $value;
}

function get_transient(string $name): mixed
{
    return Fakes::$transients[$name] ?? false;
}

function set_transient(string $name, mixed $value): void
{
    Fakes::$transients[$name] = $value;
}

function delete_transient(string $name): void
{
    unset(Fakes::$transients[$name]);
}

function wp_using_ext_object_cache(): bool
{
    return false;
}

function wp_cache_delete(): void
{
}

function __(string $text): string
{
    return $text;
}

function esc_html(string $text): string
{
    return $text;
}

function esc_html__(string $text): string
{
    return $text;
}

function esc_attr(string $text): string
{
    return $text;
}

function wp_kses_post(string $text): string
{
    return $text;
}

function wp_nonce_field(): void {}

function wc_wp_theme_get_element_class_name(string $element): string
{
    return '';
}

function wc_print_notice(string $text): void
{
    echo $text;
}

function untrailingslashit(string $text): string
{
    return rtrim($text, '/');
}

function wp_generate_password(int $length): string
{
    return substr(bin2hex(random_bytes($length)), 0, $length);
}

function wp_salt(): string
{
    return 'salt';
}

function wp_json_encode(mixed $value): string
{
    return json_encode($value, JSON_THROW_ON_ERROR);
}

function wp_strip_all_tags(string $text): string
{
    return strip_tags($text);
}

function wp_unslash(string $text): string
{
    return stripslashes($text);
}

function is_email(string $text): bool
{
    return str_contains($text, '@');
}

function wp_date(string $format, ?int $at = null): string
{
    return gmdate($format, $at ?? time());
}

function wc_format_decimal(string $text): string
{
    return str_replace(',', '.', $text);
}

function get_woocommerce_currencies(): array
{
    return ['EUR' => 'Euro', 'USD' => 'United States (US) dollar'];
}

function wc_add_notice(string $text): void
{
    Fakes::$notices[] = $text;
}

/** A gift card of 25, the only product. */
function wc_get_product(): object
{
    return new \Largesse\WooCommerce\GiftCardProduct();
}

class WC_Product_Simple
{
    public function get_meta(string $name): mixed
    {
        return $name === '_largesse_amounts' ? ['25'] : '';
    }

    public function supports(string $feature): bool
    {
        return true;
    }
}

function wc_price(float $amount): string
{
    return '$' . number_format($amount, 2);
}

function wc_get_price_decimals(): int
{
    return Fakes::$decimals;
}

function wc_get_is_paid_statuses(): array
{
    return ['processing', 'completed'];
}

function get_woocommerce_currency(): string
{
    return 'USD';
}

function is_admin(): bool
{
    return false;
}

function is_user_logged_in(): bool
{
    return Fakes::$user !== 0;
}

function get_current_user_id(): int
{
    return Fakes::$user;
}

function wp_get_current_user(): object
{
    return (object) ['user_email' => 'user-' . Fakes::$user . '@example.com'];
}

function get_user_meta(int $user, string $name, bool $single): mixed
{
    return Fakes::$userMeta["$user $name"] ?? '';
}

function update_user_meta(int $user, string $name, mixed $value): void
{
    Fakes::$userMeta["$user $name"] = $value;
}

function as_has_scheduled_action(string $hook, ?array $arguments = null): bool
{
    return in_array([$hook, $arguments], Fakes::$scheduled, true);
}

function as_schedule_single_action(int $at, string $hook, array $arguments): void
{
    Fakes::$scheduled[] = [$hook, $arguments];
}

function wc_get_logger(): object
{
    return new class {
        public function __call(string $level, array $arguments): void
        {
            Fakes::$log[] = "$level: $arguments[0]";
        }
    };
}

function WC(): object
{
    return new class {
        public object $session;
        public ?object $cart = null;
        public ?object $customer;

        public function __construct()
        {
            $this->customer = new class {
                public function get_billing_email(): string
                {
                    return Fakes::$billingEmail;
                }
            };
            $this->session = new class {
                public function get(string $name): mixed
                {
                    return Fakes::$session[$name] ?? null;
                }

                public function set(string $name, mixed $value): void
                {
                    Fakes::$session[$name] = $value;
                }
            };
        }
    };
}

class WP_Error
{
    public function __construct(private readonly string $message)
    {
    }

    public function get_error_message(): string
    {
        return $this->message;
    }
}

function is_wp_error(mixed $value): bool
{
    return $value instanceof WP_Error;
}

function wp_remote_request(string $url, array $arguments): mixed
{
    return Fakes::$transport !== null ? (Fakes::$transport)($url, $arguments) : Fakes::$largesse->respond($url, $arguments);
}

function wp_remote_retrieve_response_code(array $response): int
{
    return $response['status'];
}

function wp_remote_retrieve_body(array $response): string
{
    return $response['body'];
}

/** An order with one line, which is stored by `save` and its relatives. */
class WC_Order
{
    /** @var array<string, mixed> */
    private array $data;
    /** @var array<string, mixed> */
    private array $changes = [];
    /** @var array<string, true> Fields that were changed: only these are stored. */
    private array $changedMeta = [];

    public function __construct(private readonly int $id, array $data)
    {
        $this->data = $data + ['status' => 'pending', 'goods' => 100.0, 'total' => 100.0, 'meta' => [], 'notes' => []];
    }

    public static function place(int $id, array $data = []): self
    {
        $order = new self($id, $data);
        Fakes::$orders[$id] = $order->data;
        return $order;
    }

    public function get_id(): int
    {
        return $this->id;
    }

    public function get_order_number(): string
    {
        return (string) $this->id;
    }

    public function get_currency(): string
    {
        return 'USD';
    }

    public function get_status(): string
    {
        return $this->data['status'];
    }

    public function has_status(mixed $statuses): bool
    {
        return in_array($this->data['status'], (array) $statuses, true);
    }

    public function get_date_created(): DateTimeImmutable
    {
        return new DateTimeImmutable();
    }

    public function get_date_paid(): ?DateTimeImmutable
    {
        return $this->data['paid'] ?? null;
    }

    public function get_items(): array
    {
        return [];
    }

    public function get_total(): float
    {
        return $this->data['total'];
    }

    public function set_total(float $total): void
    {
        $this->data['total'] = $this->changes['total'] = $total;
    }

    public function setGoods(float $goods): void
    {
        $this->data['goods'] = $this->changes['goods'] = $goods;
    }

    public function get_meta(string $name): mixed
    {
        return $this->data['meta'][$name] ?? '';
    }

    public function update_meta_data(string $name, mixed $value): void
    {
        if (($this->data['meta'][$name] ?? null) !== $value) {
            $this->data['meta'][$name] = $value;
            $this->changedMeta[$name] = true;
        }
    }

    public function read_meta_data(): void
    {
        $this->data['meta'] = Fakes::$orders[$this->id]['meta'] ?? [];
    }

    public function save_meta_data(): void
    {
        foreach (array_keys($this->changedMeta) as $name) {
            // A copy: WooCommerce serializes what it stores.
            Fakes::$orders[$this->id]['meta'][$name] = unserialize(serialize($this->data['meta'][$name]));
        }
        $this->changedMeta = [];
    }

    public function save(): void
    {
        $from = Fakes::$orders[$this->id]['status'] ?? null;
        Fakes::$orders[$this->id] = $this->changes + (Fakes::$orders[$this->id] ?? []) + $this->data;
        $this->save_meta_data();
        $this->changes = [];
        if ($from !== null && $from !== $this->data['status']) {
            do_action('woocommerce_order_status_changed', $this->id, $from, $this->data['status'], $this);
        }
    }

    public function update_status(string $status, string $note = ''): void
    {
        $this->data['status'] = $this->changes['status'] = $status;
        $this->add_order_note($note);
        $this->save();
    }

    /** The same as in WooCommerce: the total is calculated from the lines, and then hooks run. */
    public function calculate_totals(): void
    {
        $this->set_total($this->data['goods']);
        do_action('woocommerce_order_after_calculate_totals', true, $this);
        $this->save();
    }

    public function add_order_note(string $note): void
    {
        if ($note !== '') {
            Fakes::$orders[$this->id]['notes'][] = $note;
        }
    }
}

function wc_get_order(int $id): WC_Order|false
{
    return isset(Fakes::$orders[$id]) ? new WC_Order($id, Fakes::$orders[$id]) : false;
}

$wpdb = new class {
    public string $prefix = 'wp_';

    public function prepare(string $query): string
    {
        return $query;
    }

    public function get_var(): string
    {
        return '1';
    }

    public function query(): void
    {
    }
};
