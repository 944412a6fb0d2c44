<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Limits the unknown codes of a visitor. A lookup reserves one before it is sent, so that guesses at the same time share the limit. */
final class Visitor
{
    private const UNKNOWN_MAX = 10;
    private const UNKNOWN_SECONDS = 15 * MINUTE_IN_SECONDS;

    private readonly string $key;

    public function __construct()
    {
        $this->key = hash('sha256', self::network() . wp_salt());
    }

    /**
     * @throws Rejected the visitor has entered too many unknown codes
     * @throws Unreachable
     */
    public function reserveUnknown(): void
    {
        Lock::visitor($this->key, function (): void {
            $count = $this->unknown();
            if ($count >= self::UNKNOWN_MAX) {
                throw new Rejected(__('Too many unknown codes were entered. Try again in a few minutes.', 'largesse-gift-cards'));
            }
            set_transient($this->transient(), $count + 1, self::UNKNOWN_SECONDS);
        });
    }

    /** The code was known, or was not looked up. */
    public function releaseUnknown(): void
    {
        try {
            Lock::visitor($this->key, function (): void {
                set_transient($this->transient(), max(0, $this->unknown() - 1), self::UNKNOWN_SECONDS);
            });
        } catch (Unreachable) {
            // The reservation ends by itself.
        }
    }

    /** A keyed digest of the account that is signed in, or of the address. */
    public function name(): string
    {
        $person = is_user_logged_in() ? 'customer ' . get_current_user_id() : 'address ' . self::network();
        return hash_hmac('sha256', $person, wp_salt());
    }

    private function transient(): string
    {
        return 'largesse_unknown_' . $this->key;
    }

    /** The count as it is stored now: another process can have changed it since this one has read it. */
    private function unknown(): int
    {
        if (wp_using_ext_object_cache()) {
            return (int) wp_cache_get($this->transient(), 'transient', true);
        }
        foreach (['_transient_' . $this->transient(), '_transient_timeout_' . $this->transient(), 'notoptions'] as $cached) {
            wp_cache_delete($cached, 'options');
        }
        return (int) get_transient($this->transient());
    }

    /** The proxy whose address all visitors have; null: none is known. */
    public static function proxy(): ?string
    {
        $address = is_string($_SERVER['REMOTE_ADDR'] ?? null) ? $_SERVER['REMOTE_ADDR'] : '';
        $forwarded = is_string($_SERVER['HTTP_X_FORWARDED_FOR'] ?? null) ? substr($_SERVER['HTTP_X_FORWARDED_FOR'], 0, 1000) : '';
        // A web server that sets the address of the visitor has it from this list.
        $isKnown = $forwarded === '' || in_array($address, array_map(trim(...), explode(',', $forwarded)), true);
        return $isKnown || has_filter('largesse_visitor_address') ? null : $address;
    }

    /**
     * The address of the connection, or the network of an address of IPv6, because a visitor can have all of its addresses. A
     * shop behind a proxy whose server does not set the address can name another one.
     */
    private static function network(): string
    {
        $address = is_string($_SERVER['REMOTE_ADDR'] ?? null) ? $_SERVER['REMOTE_ADDR'] : '';
        $address = (string) apply_filters('largesse_visitor_address', $address);
        $bytes = filter_var($address, FILTER_VALIDATE_IP, FILTER_FLAG_IPV6) === false ? false : inet_pton($address);
        $isMapped = is_string($bytes) && str_starts_with($bytes, str_repeat("\0", 10) . "\xff\xff");
        return is_string($bytes) && !$isMapped ? bin2hex(substr($bytes, 0, 8)) : $address;
    }
}
