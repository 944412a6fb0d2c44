<?php
/** Cards, holds and transactions of a service in memory, with its rules for external ids, and messages that can be lost. */

declare(strict_types=1);

final class FakeLargesse
{
    /** @var array<int, int> Balances in cents. */
    public array $cards = [];
    /** @var array<int, array<string, mixed>> */
    public array $holds = [];
    /** @var array<int, array<string, mixed>> */
    public array $transactions = [];
    /** @var array<string, true> External ids that a void used up. */
    private array $used = [];
    /** @var list<string> */
    public array $requests = [];
    /** @var null|callable(string): string `before`, `after` or `none` */
    public $lose = null;

    public function available(int $card): int
    {
        $held = array_sum(array_map(static fn(array $hold): int => $hold['card'] === $card && $hold['status'] === 'open' ? $hold['cents'] : 0, $this->holds));
        return $this->cards[$card] - $held;
    }

    public function respond(string $url, array $arguments): mixed
    {
        $path = substr($url, strlen('https://cards.example'));
        $this->requests[] = $arguments['method'] . ' ' . $path;
        $fate = $this->lose === null ? 'none' : ($this->lose)($path);
        if ($fate === 'before') {
            return new WP_Error('timeout');
        }
        [$status, $body] = $this->handle($path, json_decode($arguments['body'] ?? 'null', true) ?? []);
        return $fate === 'after' ? new WP_Error('timeout') : ['status' => $status, 'body' => json_encode($body)];
    }

    /** @return array{int, array<string, mixed>} */
    private function handle(string $path, array $body): array
    {
        return match (1) {
            preg_match('#^/gift_card/(\d+)/holds$#', $path, $parts) => $this->hold((int) $parts[1], $body),
            preg_match('#^/holds/([^/]+)/(capture|void|extend)$#', $path, $parts) => $this->changeHold(rawurldecode($parts[1]), $parts[2], $body),
            preg_match('#^/holds/([^/]+)$#', $path, $parts) => $this->show($this->find(rawurldecode($parts[1]))),
            preg_match('#^/transactions/(\d+)/reverse$#', $path, $parts) => $this->reverse((int) $parts[1], $body),
            default => $this->error(404, 'not-found'),
        };
    }

    /** @return array{int, array<string, mixed>} */
    private function error(int $status, string $code, array $more = []): array
    {
        return [$status, ['type' => "https://cards.example/docs/errors/$code", 'detail' => $code] + $more];
    }

    /** @return array{int, array<string, mixed>} */
    private function show(?int $id, int $status = 200): array
    {
        if ($id === null) {
            return $this->error(404, 'not-found');
        }
        $hold = $this->holds[$id];
        return [$status, ['hold' => ['id' => $id, 'status' => $hold['status'], 'amount' => number_format($hold['cents'] / 100, 2)]]];
    }

    private function find(string $name): ?int
    {
        foreach ($this->holds as $id => $hold) {
            if ((string) $id === $name || "external:{$hold['external']}" === $name) {
                return $id;
            }
        }
        return null;
    }

    /** @return array{int, array<string, mixed>} */
    private function hold(int $card, array $body): array
    {
        $cents = (int) round((float) $body['amount'] * 100);
        $known = $this->find("external:{$body['external_id']}");
        if ($known !== null) {
            return $this->holds[$known]['cents'] === $cents ? $this->show($known) : $this->error(422, 'external-id-used');
        }
        if (isset($this->used[$body['external_id']])) {
            return $this->error(422, 'external-id-used');
        }
        if ($cents > $this->available($card)) {
            return $this->error(422, 'insufficient-balance', ['available' => number_format($this->available($card) / 100, 2, '.', '')]);
        }
        $id = 1000 + count($this->holds);
        $this->holds[$id] = ['card' => $card, 'cents' => $cents, 'external' => $body['external_id'], 'status' => 'open'];
        return $this->show($id, 201);
    }

    /** @return array{int, array<string, mixed>} */
    private function changeHold(string $name, string $operation, array $body): array
    {
        $id = $this->find($name);
        if ($id === null) {
            if ($operation === 'void' && str_starts_with($name, 'external:')) {
                $this->used[substr($name, 9)] = true;
            }
            return $this->error(404, 'not-found');
        }
        $hold = &$this->holds[$id];
        if ($operation === 'capture') {
            foreach ($this->transactions as $number => $transaction) {
                if ($transaction['external'] === $body['external_id']) {
                    return [200, ['transaction' => ['id' => $number]]];
                }
            }
        }
        if ($operation === 'void' && $hold['status'] === 'voided') {
            return $this->show($id);
        }
        if ($hold['status'] !== 'open') {
            return $this->error(422, $hold['status'] === 'expired' ? 'hold-expired' : 'hold-closed');
        }
        if ($operation === 'void') {
            $hold['status'] = 'voided';
        }
        if ($operation !== 'capture') {
            return $this->show($id);
        }
        $hold['status'] = 'captured';
        $cents = (int) round((float) $body['amount'] * 100);
        $this->cards[$hold['card']] -= $cents;
        return $this->transact(['card' => $hold['card'], 'cents' => -$cents, 'external' => $body['external_id'], 'reversed' => 0]);
    }

    /** @return array{int, array<string, mixed>} */
    private function transact(array $transaction): array
    {
        $id = 5000 + count($this->transactions);
        $this->transactions[$id] = $transaction;
        return [201, ['transaction' => ['id' => $id]]];
    }

    /** @return array{int, array<string, mixed>} */
    private function reverse(int $id, array $body): array
    {
        foreach ($this->transactions as $number => $transaction) {
            if ($transaction['external'] === $body['external_id']) {
                return [200, ['transaction' => ['id' => $number]]];
            }
        }
        $cents = (int) round((float) $body['amount'] * 100);
        if ($this->transactions[$id]['reversed'] + $cents > -$this->transactions[$id]['cents']) {
            return $this->error(422, 'exceeds-reversible');
        }
        $this->transactions[$id]['reversed'] += $cents;
        $this->cards[$this->transactions[$id]['card']] += $cents;
        return $this->transact(['card' => $this->transactions[$id]['card'], 'cents' => $cents, 'external' => $body['external_id'], 'reversed' => 0]);
    }
}
