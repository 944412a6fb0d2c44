<?php

declare(strict_types=1);

use Largesse\WooCommerce\Account;
use Largesse\WooCommerce\CardLookup;
use Largesse\WooCommerce\Circuit;
use Largesse\WooCommerce\Client;
use Largesse\WooCommerce\Rejected;
use Largesse\WooCommerce\ServiceError;
use Largesse\WooCommerce\Settings;
use Largesse\WooCommerce\Unreachable;

/** Responds to each request with the next of these. @param list<mixed> $responses */
function respondWith(array $responses): void
{
    Fakes::$transport = static function () use (&$responses): mixed {
        $response = array_shift($responses) ?? new WP_Error('timeout');
        return is_array($response) ? ['status' => $response[0], 'body' => $response[1]] : $response;
    };
}

test('a request without a response is repeated once', static function (): void {
    foreach ([new WP_Error('timeout'), [503, '{}'], [500, 'x'], [200, 'not JSON'], [409, '{}']] as $first) {
        Fakes::reset();
        respondWith([$first, [200, '{"ok":true}']]);
        same(Client::forCustomer()->send('GET', '/x')['ok'], true);
    }
    respondWith([new WP_Error('timeout'), new WP_Error('timeout'), [200, '{}']]);
    throws(Unreachable::class, static fn() => Client::forCustomer()->send('GET', '/x'));
});

test('a rejection is not repeated, and has its code', static function (): void {
    respondWith([[422, '{"type":"https://cards.example/docs/errors/insufficient-balance","available":"1.00"}'], [200, '{}']]);
    $error = throws(ServiceError::class, static fn() => Client::forCustomer()->send('POST', '/x', []));
    same([$error->problemCode, $error->status, $error->problem['available']], ['insufficient-balance', 422, '1.00']);
});

test('after failures, customers do not wait for a while, and tasks still try', static function (): void {
    respondWith([]);
    foreach ([1, 2] as $ignored) {
        throws(Unreachable::class, static fn() => Client::forCustomer()->send('GET', '/x'));
    }
    same(Circuit::isOpen(), true);
    respondWith([[200, '{}']]);
    throws(Unreachable::class, static fn() => Client::forCustomer()->send('GET', '/x'));
    Client::forTask()->send('GET', '/x');
    same(Circuit::isOpen(), false);
});

test('a request is not repeated when the service has failed too often', static function (): void {
    $attempts = 0;
    Fakes::$transport = static function () use (&$attempts): WP_Error {
        $attempts += 1;
        return new WP_Error('timeout');
    };
    foreach (['/hold', '/capture', '/issue'] as $path) {
        throws(Unreachable::class, static fn() => Client::forCustomer()->send('POST', $path, []));
    }
    same($attempts, 3);
});

test('a customer waits for at most five seconds in all requests', static function (): void {
    $timeouts = [];
    Fakes::$transport = static function (string $url, array $arguments) use (&$timeouts): mixed {
        $timeouts[] = $arguments['timeout'];
        same($arguments['redirection'], 0);
        return new WP_Error('timeout');
    };
    throws(Unreachable::class, static fn() => Client::forCustomer()->send('GET', '/x'));
    same(array_sum($timeouts) <= 5.0, true);
});

test('a customer whose time is over does not stop the requests of others', static function (): void {
    Fakes::$transport = static fn(): array => ['status' => 200, 'body' => '{}'];
    $class = new ReflectionClass(Client::class);
    $client = $class->newInstanceWithoutConstructor();
    $class->getConstructor()?->invoke($client, 0.1, true);
    for ($again = 1; $again <= 5; $again += 1) {
        same(throws(Unreachable::class, static fn() => $client->send('GET', '/x'))->getMessage(), 'no time is left');
    }
    same(Circuit::isOpen(), false);
});

test('a copy of the shop under another URL sends nothing until staff save the settings, and has other external ids', static function (): void {
    $prefix = Settings::externalPrefix();
    Fakes::$options['home'] = 'https://staging.example';
    same([Settings::isConfigured(), Settings::isCopy()], [false, true]);
    throws(Unreachable::class, static fn() => Client::forTask()->send('GET', '/x'));
    same(Fakes::$largesse->requests, []);
    Settings::confirmShop();
    same([Settings::isConfigured(), Settings::externalPrefix() === $prefix], [true, false]);
    Fakes::$options['home'] = 'http://staging.example/';
    same(Settings::isConfigured(), true);
});

test('unknown codes are limited for a visitor, and no code is logged', static function (): void {
    Fakes::$transport = static fn(): array => ['status' => 404, 'body' => '{"type":"https://cards.example/docs/errors/not-found"}'];
    $_SERVER['REMOTE_ADDR'] = '192.0.2.1';
    for ($attempt = 1; $attempt <= 10; $attempt += 1) {
        same(str_contains(throws(Rejected::class, static fn() => CardLookup::byCode('abcd-efgh-1234-5678'))->getMessage(), 'no gift card'), true);
    }
    same(str_contains(throws(Rejected::class, static fn() => CardLookup::byCode('abcd-efgh-1234-5678'))->getMessage(), 'Too many'), true);
    $_SERVER['REMOTE_ADDR'] = '192.0.2.2';
    same(str_contains(throws(Rejected::class, static fn() => CardLookup::byCode('abcd-efgh-1234-5678'))->getMessage(), 'no gift card'), true);
    // The addresses of one network of IPv6 are one visitor.
    for ($attempt = 1; $attempt <= 11; $attempt += 1) {
        $_SERVER['REMOTE_ADDR'] = "2001:db8:1:2::$attempt";
        $text = throws(Rejected::class, static fn() => CardLookup::byCode('abcd-efgh-1234-5678'))->getMessage();
    }
    same(str_contains($text, 'Too many'), true);
    $_SERVER['REMOTE_ADDR'] = '2001:db8:1:3::1';
    same(str_contains(throws(Rejected::class, static fn() => CardLookup::byCode('abcd-efgh-1234-5678'))->getMessage(), 'no gift card'), true);
    Fakes::$transport = static fn(): array => ['status' => 403, 'body' => '{"type":"https://cards.example/docs/errors/forbidden"}'];
    throws(Rejected::class, static fn() => CardLookup::byCode('abcd-efgh-1234-5678'));
    same(Fakes::$log !== [], true);
    $log = implode("\n", Fakes::$log);
    same([str_contains($log, 'abcd'), str_contains($log, 'secret-token')], [false, false]);
});

test('a lookup names its visitor by a digest: the account that is signed in, or the address', static function (): void {
    $sent = [];
    Fakes::$transport = static function (string $url, array $arguments) use (&$sent): array {
        $sent[] = [$arguments['headers']['Largesse-Visitor'] ?? null, json_decode($arguments['body'], true)];
        return ['status' => 200, 'body' => '{"gift_card":{"id":5}}'];
    };
    $_SERVER['REMOTE_ADDR'] = '192.0.2.1';
    CardLookup::byCode('abcd-efgh-1234-5678');
    CardLookup::byCode('abcd-efgh-1234-5678');
    $_SERVER['REMOTE_ADDR'] = '192.0.2.2';
    Fakes::$billingEmail = 'grace@example.com';
    CardLookup::byCode('abcd-efgh-1234-5678');
    [Fakes::$user, Fakes::$billingEmail] = [7, ''];
    CardLookup::byCode('abcd-efgh-1234-5678');
    $_SERVER['REMOTE_ADDR'] = '192.0.2.3';
    CardLookup::byCode('abcd-efgh-1234-5678');
    $visitors = array_column($sent, 0);
    same([$visitors[0] === $visitors[1], $visitors[3] === $visitors[4], count(array_unique($visitors))], [true, true, 3]);
    foreach ($visitors as $visitor) {
        same(preg_match('/^[0-9a-f]{64}$/', $visitor), 1);
    }
    same(array_map(static fn(array $one): ?string => $one[1]['email'] ?? null, $sent), [null, null, 'grace@example.com', 'user-7@example.com', 'user-7@example.com']);
});

test('an address that Largesse rejects does not stop a lookup, and too many unknown codes are not logged', static function (): void {
    Fakes::$billingEmail = 'grace@example..com';
    respondWith([
        [422, '{"type":"https://cards.example/docs/errors/invalid-parameter","errors":{"email":["must be an email address"]}}'],
        [200, '{"gift_card":{"id":5}}'],
        [429, '{"type":"https://cards.example/docs/errors/too-many-misses","errors":"Too Many Requests"}'],
    ]);
    same(CardLookup::byCode('abcd-efgh-1234-5678'), ['id' => 5]);
    same(str_contains(throws(Rejected::class, static fn() => CardLookup::byCode('abcd-efgh-1234-5678'))->getMessage(), 'Too many'), true);
    same(Fakes::$log, []);
});

test('the account shows no card whose code was replaced, and names the visitor', static function (): void {
    Fakes::$user = 7;
    Account::remember(['id' => 5, 'last_characters' => 'aaaa']);
    Account::remember(['id' => 6, 'last_characters' => 'bbbb']);
    $last = ['5' => 'aaaa', '6' => 'cccc'];
    $visitors = [];
    Fakes::$transport = static function (string $url, array $arguments) use (&$last, &$visitors): array {
        $visitors[] = $arguments['headers']['Largesse-Visitor'] ?? null;
        if (str_contains($url, '/transactions')) {
            return ['status' => 200, 'body' => '{"transactions":[]}'];
        }
        $id = basename($url);
        $card = ['id' => (int) $id, 'last_characters' => $last[$id], 'currency' => 'EUR', 'state' => 'active', 'balance' => "$id.00", 'expires_on' => null];
        return ['status' => 200, 'body' => json_encode(['gift_card' => $card])];
    };
    $shown = static function (): string {
        ob_start();
        Account::show();
        return (string) ob_get_clean();
    };
    $page = $shown();
    same([str_contains($page, 'AAAA'), str_contains($page, 'BBBB'), str_contains($page, 'CCCC'), str_contains($page, '6.00')], [true, false, false, false]);
    // The card is forgotten, also if its code has the same characters again.
    $last['6'] = 'bbbb';
    same(str_contains($shown(), 'BBBB'), false);
    Account::remember(['id' => 6, 'last_characters' => 'cccc']);
    $last['6'] = 'cccc';
    same(str_contains($shown(), 'CCCC'), true);
    same([count(array_unique($visitors)), $visitors[0] !== null], [1, true]);
});

test('known codes, and lookups that fail, do not count as unknown codes', static function (): void {
    $_SERVER['REMOTE_ADDR'] = '192.0.2.1';
    Fakes::$transport = static fn(): array => ['status' => 200, 'body' => '{"gift_card":{"id":1}}'];
    for ($attempt = 1; $attempt <= 12; $attempt += 1) {
        same(CardLookup::byCode('abcd-efgh-1234-5678')['id'], 1);
    }
    Fakes::$transport = static fn(): array => ['status' => 403, 'body' => '{"type":"https://cards.example/docs/errors/forbidden"}'];
    for ($attempt = 1; $attempt <= 12; $attempt += 1) {
        same(str_contains(throws(Rejected::class, static fn() => CardLookup::byCode('abcd-efgh-1234-5678'))->getMessage(), 'cannot be checked'), true);
    }
});

test('a text is sent as it was typed, and one that the service does not read as a code is not a wrong code', static function (): void {
    $_SERVER['REMOTE_ADDR'] = '192.0.2.2';
    foreach (['', ' ', str_repeat('a', 701)] as $text) {
        throws(Rejected::class, static fn() => CardLookup::byCode($text));
    }
    same(Fakes::$largesse->requests, []);
    $sent = [];
    Fakes::$transport = static function (string $url, array $arguments) use (&$sent): array {
        $sent[] = json_decode($arguments['body'], true)['code'];
        return ['status' => 422, 'body' => '{"type":"https://cards.example/docs/problems/invalid-parameter","errors":{"code":["must have 8 to 20 letters or digits"]}}'];
    };
    $typed = 'Code: A–1';
    for ($attempt = 1; $attempt <= 12; $attempt += 1) {
        same(str_contains(throws(Rejected::class, static fn() => CardLookup::byCode(" $typed\n"))->getMessage(), 'not the code'), true);
    }
    same(array_unique($sent), [$typed]);
});
