<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/** A reason for the customer, in their language. */
final class Rejected extends \Exception
{
}
