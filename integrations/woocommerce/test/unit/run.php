<?php
/** Runs the tests of this folder with faked hooks: `php integrations/woocommerce/test/unit/run.php`. */

declare(strict_types=1);

set_error_handler(static function (int $level, string $message, string $file, int $line): never {
    throw new ErrorException($message, 0, $level, $file, $line);
});

require __DIR__ . '/fakes.php';
require __DIR__ . '/fake-largesse.php';

/** @var list<array{string, callable(): void}> $tests */
$tests = [];

function test(string $name, callable $body): void
{
    global $tests;
    $tests[] = [$name, $body];
}

function same(mixed $actual, mixed $expected, string $about = ''): void
{
    if ($actual !== $expected) {
        throw new RuntimeException(trim($about . ' ' . json_encode($actual, JSON_UNESCAPED_UNICODE) . ' is not ' . json_encode($expected, JSON_UNESCAPED_UNICODE)));
    }
}

function throws(string $class, callable $body): Throwable
{
    try {
        $body();
    } catch (Throwable $error) {
        if ($error instanceof $class) {
            return $error;
        }
        throw $error;
    }
    throw new RuntimeException("no $class was thrown");
}

foreach (glob(__DIR__ . '/*.test.php') as $file) {
    require $file;
}
if ($tests === []) {
    fwrite(STDERR, "no test was found\n");
    exit(1);
}
$failed = 0;
foreach ($tests as [$name, $body]) {
    Fakes::reset();
    try {
        $body();
        echo "✔ $name\n";
    } catch (Throwable $error) {
        $failed += 1;
        echo "✖ $name\n  {$error->getMessage()}\n  {$error->getFile()}:{$error->getLine()}\n{$error->getTraceAsString()}\n";
    }
}
echo count($tests) . " tests, $failed failed\n";
exit($failed === 0 ? 0 : 1);
