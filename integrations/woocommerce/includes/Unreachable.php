<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** Largesse did not respond: a write may have happened or not. */
final class Unreachable extends \RuntimeException
{
}
