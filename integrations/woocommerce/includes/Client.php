<?php

declare(strict_types=1);

namespace Largesse\WooCommerce;

defined('ABSPATH') || exit;

/**
 * Sends requests to Largesse until a deadline. A request without a response is repeated: every write has an external id, or
 * changes nothing when it is repeated.
 */
final class Client
{
    private const ATTEMPT_SECONDS = 2.5;
    private const ATTEMPTS_MAX = 2;
    private const SECONDS_MIN = 0.5;
    private const RESPONSE_BYTES_MAX = 2_000_000;

    private readonly float $deadline;

    private function __construct(float $seconds, private readonly bool $forCustomer, private readonly ?string $visitor = null)
    {
        $this->deadline = microtime(true) + $seconds;
    }

    /** For a page that a customer waits for: at most five seconds for all its requests. */
    public static function forCustomer(): self
    {
        return new self(5.0, true);
    }

    /** For a page that a customer waits for. Unknown codes and ids count for the visitor, and not for the shop. */
    public static function forVisitor(Visitor $visitor): self
    {
        return new self(5.0, true, $visitor->name());
    }

    /** For a page of the administration. */
    public static function forStaff(): self
    {
        return new self(15.0, false);
    }

    /** For a scheduled action. */
    public static function forTask(): self
    {
        return new self(45.0, false);
    }

    /**
     * @param array<string, mixed>|null $body
     * @return array<string, mixed> the body of the response, with `_status`
     * @throws ServiceError the request was rejected
     * @throws Unreachable the outcome is unknown
     */
    public function send(string $method, string $path, ?array $body = null): array
    {
        if (!Settings::isConfigured()) {
            throw new Unreachable('Largesse is not connected');
        }
        if ($this->isStopped()) {
            throw new Unreachable('Largesse did not respond a moment ago');
        }
        for ($attempt = 1; ; $attempt += 1) {
            // The time of this page is over: this says nothing about the service.
            if ($this->secondsLeft() < self::SECONDS_MIN) {
                throw new Unreachable('no time is left');
            }
            try {
                $response = $this->attempt($method, $path, $body);
                Circuit::worked();
                return $response;
            } catch (Unreachable $error) {
                Circuit::failed();
                if ($attempt >= self::ATTEMPTS_MAX || $this->secondsLeft() < self::SECONDS_MIN || $this->isStopped()) {
                    Log::warning("$method " . self::loggedPath($path) . ': ' . $error->getMessage());
                    throw $error;
                }
            } catch (ServiceError $error) {
                Circuit::worked();
                throw $error;
            }
        }
    }

    private function isStopped(): bool
    {
        return $this->forCustomer && Circuit::isOpen();
    }

    private function secondsLeft(): float
    {
        return $this->deadline - microtime(true);
    }

    /**
     * @param array<string, mixed>|null $body
     * @return array<string, mixed>
     */
    private function attempt(string $method, string $path, ?array $body): array
    {
        $seconds = min($this->forCustomer ? self::ATTEMPT_SECONDS : 10.0, $this->secondsLeft());
        $headers = ['Authorization' => 'Bearer ' . trim(Settings::get('token')), 'Accept' => 'application/json'];
        if ($this->visitor !== null) {
            $headers['Largesse-Visitor'] = $this->visitor;
        }
        if ($body !== null) {
            $headers['Content-Type'] = 'application/json';
        }
        $response = wp_remote_request(Settings::url() . $path, [
            'method' => $method,
            'timeout' => $seconds,
            'redirection' => 0,
            'headers' => $headers,
            'body' => $body === null ? null : wp_json_encode($body),
            'limit_response_size' => self::RESPONSE_BYTES_MAX,
            'user-agent' => 'largesse-woocommerce/' . Plugin::VERSION,
        ]);
        if (is_wp_error($response)) {
            throw new Unreachable($response->get_error_message());
        }
        return self::read((int) wp_remote_retrieve_response_code($response), (string) wp_remote_retrieve_body($response));
    }

    /** @return array<string, mixed> */
    private static function read(int $status, string $text): array
    {
        $body = json_decode($text, true);
        if ($status >= 500 || $status === 409 || $status < 200) {
            throw new Unreachable("status $status");
        }
        if (!is_array($body)) {
            throw new Unreachable("status $status without JSON");
        }
        if ($status >= 300) {
            $type = is_string($body['type'] ?? null) ? $body['type'] : '';
            throw new ServiceError(basename($type) ?: "status-$status", $status, $body);
        }
        return ['_status' => $status] + $body;
    }

    /** External ids are not logged: they can name orders. */
    private static function loggedPath(string $path): string
    {
        return (string) preg_replace('#external:[^/?]+|\?.*$#', '…', $path);
    }
}
