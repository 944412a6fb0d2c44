<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/**
 * Links, phone numbers and amounts in the texts of customers, who are strangers, in emails of the shop. It is the rule of the
 * service for its own page of sales (`buyer-text.ts`), and the tests of both have the same texts. Most shops have no `intl`, so
 * letters in other forms are replaced here.
 */
final class BuyerText
{
    private const UNSEEN = '/[\p{Cf}\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2800}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}\x{E0000}-\x{E0FFF}]/u';
    private const LETTERS = '/[\x{2100}-\x{214F}\x{24B6}-\x{24E9}\x{FB00}-\x{FB06}\x{1D400}-\x{1D7CB}]/u';
    private const FULL_STOPS = '/[\x{0701}\x{0702}\x{2024}\x{A4F8}\x{A60E}\x{FE52}\x{10A50}\x{1D16D}]/u';
    private const ZEROS = '/(?<=[a-z\d])[\x{0660}\x{06F0}](?=[a-z])/iu';
    /** In Chinese and Japanese, the next sentence follows it without a space. */
    private const IDEOGRAPHIC = '/[\x{3002}\x{FE12}\x{FF61}](?![\p{Han}\p{Hiragana}\p{Katakana}])/u';
    private const LINKS = [
        '/@/',
        '/[^\s.]\.\p{L}\p{M}{0,9}\p{L}/u',
        '/[^\s\x{3002}]\x{3002}\p{L}{2,63}[\/:]/u',
        '/:\/\/|\bhttps?:/iu',
        '/(?<!\p{N})(?:\p{N}{1,3}\.){3}\p{N}{1,3}(?!\p{N})/u',
        '/(?<![\p{L}\p{N}])(?:0x[\da-f]{1,16}|\d{8,10})[\/:?#]\S/iu',
        '/(?<![\p{L}\p{N}])0x[\da-f]{2,}/iu',
    ];
    private const IPV6 = '/(?<![\p{L}\p{N}])(?:(?:[\da-f]{1,4}:){7}[\da-f]{1,4}|(?:[\da-f]{1,4}:){1,7}(?::[\da-f]{1,4}){1,7}|::[\da-f]{1,4}|(?:[\da-f]{1,4}:){1,7}:)(?![\p{L}\p{N}])/iu';

    private static function readable(string $text): string
    {
        $seen = (string) preg_replace([self::UNSEEN, self::LETTERS], ['', 'xx'], $text);
        // Letters, digits and symbols of full width.
        $half = (string) preg_replace_callback('/[\x{FF01}-\x{FF5E}]/u', static fn(array $found): string => chr((ord($found[0][1]) & 3) * 64 + (ord($found[0][2]) & 63) + 32), $seen);
        $half = strtr($half, ["\u{FE6B}" => '@', "\u{FE69}" => '$', "\u{FE55}" => ':']);
        return (string) preg_replace([self::FULL_STOPS, self::ZEROS, self::IDEOGRAPHIC], '.', $half);
    }

    /** Whether email programs show something of a text as a link, or a reader could enter it as an address. */
    public static function hasLink(string $text): bool
    {
        $read = self::readable($text);
        foreach (self::LINKS as $form) {
            if (preg_match($form, $read) === 1) {
                return true;
            }
        }
        return preg_match('/\d/', $read) === 1 && preg_match(self::IPV6, $read) === 1;
    }

    /**
     * Whether a name has a phone number or an amount.
     *
     * @param list<string> $currencies the codes
     */
    public static function hasNumber(string $name, array $currencies): bool
    {
        $read = self::readable($name);
        if (preg_match_all('/[\p{N}〇零一二三四五六七八九]/u', $read) >= 7 || preg_match('/\p{Sc}\s{0,9}\p{N}|\p{N}\s{0,9}\p{Sc}|\+\s{0,9}\p{N}/u', $read) === 1) {
            return true;
        }
        preg_match_all('/(?<![A-Z])([A-Z]{3})\s{0,9}\p{N}|\p{N}\s{0,9}([A-Z]{3})(?![A-Z])/u', $read, $found);
        return array_intersect($currencies, $found[1]) !== [] || array_intersect($currencies, $found[2]) !== [];
    }
}
