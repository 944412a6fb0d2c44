<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** A rejection of Largesse: nothing has changed. */
final class ServiceError extends \RuntimeException
{
    /** @param array<string, mixed> $problem the body of the error */
    public function __construct(public readonly string $problemCode, public readonly int $status, public readonly array $problem)
    {
        parent::__construct($problemCode . ' (' . $status . ')' . self::detailOf($problem));
    }

    /** @param array<string, mixed> $problem */
    private static function detailOf(array $problem): string
    {
        $detail = $problem['detail'] ?? '';
        return is_string($detail) && $detail !== '' ? ': ' . mb_substr($detail, 0, 300) : '';
    }

    public function is(string ...$codes): bool
    {
        return in_array($this->problemCode, $codes, true);
    }
}
