<?php

declare(strict_types=1);

use Largesse\WooCommerce\Client;
use Largesse\WooCommerce\Holding;
use Largesse\WooCommerce\OrderCards;
use Largesse\WooCommerce\Refunding;
use Largesse\WooCommerce\Rejected;
use Largesse\WooCommerce\SessionCards;
use Largesse\WooCommerce\Settlement;
use Largesse\WooCommerce\Totals;

/** An order of 100 for which cards pay these cents. @param array<int, int> $shares */
function orderWith(array $shares): void
{
    $order = WC_Order::place(7);
    $cards = OrderCards::of($order);
    $gross = Totals::grossOf($order, $cards);
    foreach ($shares as $card => $cents) {
        Fakes::$largesse->cards[$card] ??= $cents;
        $planned[] = ['card' => $card, 'last' => "l$card", 'units' => $cents];
    }
    $cards->plan($planned);
    $cards->set();
    Totals::setTotal($order, $gross, $cards);
    $order->save();
}

function stored(): OrderCards
{
    return OrderCards::stored(7);
}

function states(): string
{
    return implode(',', array_column(stored()->rows, 'state'));
}

function total(): float
{
    return wc_get_order(7)->get_total();
}

function setStatus(string $status): void
{
    wc_get_order(7)->update_status($status);
}

/** Runs the tasks that are due. */
function runTasks(): void
{
    $due = Fakes::$scheduled;
    Fakes::$scheduled = [];
    foreach ($due as [$hook, $arguments]) {
        do_action($hook, ...$arguments);
    }
}

test('the total is what cards do not pay, however often it is calculated', static function (): void {
    orderWith([1 => 3000, 2 => 2050]);
    same(total(), 49.5);
    foreach (['pending', 'failed', 'pending', 'on-hold'] as $status) {
        setStatus($status);
        wc_get_order(7)->calculate_totals();
        wc_get_order(7)->calculate_totals();
        same(total(), 49.5, $status);
    }
});

test('an order object that was loaded before the hold keeps the total and the hold', static function (): void {
    orderWith([1 => 3000]);
    $stale = wc_get_order(7);
    Holding::hold(7, Client::forCustomer());
    $stale->calculate_totals();
    same([total(), states()], [70.0, 'held']);
});

test('an order that costs less than its cards pay reduces them, and captures less', static function (): void {
    orderWith([1 => 3000, 2 => 5000]);
    Holding::hold(7, Client::forCustomer());
    $order = wc_get_order(7);
    $order->setGoods(40.0);
    $order->calculate_totals();
    same([total(), array_column(stored()->rows, 'amount')], [0.0, ['30', '10']]);
    setStatus('processing');
    same([states(), Fakes::$largesse->cards], ['captured,captured', [1 => 0, 2 => 4000]]);
});

test('a hold of one card that fails holds none, and the order asks for its whole total', static function (): void {
    Fakes::$largesse->cards = [1 => 3000, 2 => 100];
    Fakes::$session['largesse_cards'] = [['card' => 1, 'last' => 'l1', 'available' => '30.00'], ['card' => 2, 'last' => 'l2', 'available' => '20.00']];
    orderWith([1 => 3000, 2 => 2000]);
    $rejected = throws(Rejected::class, static fn() => Holding::hold(7, Client::forCustomer()));
    same(str_contains($rejected->getMessage(), 'has changed'), true);
    same([total(), stored()->rows], [100.0, []]);
    same(array_column(SessionCards::all(), 'available', 'card'), [1 => '30.00', 2 => '1.00']);
    runTasks();
    same([Fakes::$largesse->available(1), stored()->dropped], [3000, []]);
});

test('a plan with the same amount keeps its hold, and another one replaces it', static function (): void {
    orderWith([1 => 3000]);
    Holding::hold(7, Client::forCustomer());
    $plan = static function (int $cents): void {
        $cards = stored();
        $cards->plan($cents === 0 ? [] : [['card' => 1, 'last' => 'l1', 'units' => $cents]]);
        $cards->save();
    };
    $plan(3000);
    same([states(), stored()->dropped], ['held', []]);
    $plan(2000);
    same(count(stored()->dropped), 1);
    Holding::hold(7, Client::forCustomer());
    same([states(), stored()->dropped, Fakes::$largesse->available(1)], ['held', [], 1000]);
    $plan(0);
    Settlement::follow(7, Client::forTask());
    same(Fakes::$largesse->available(1), 3000);
});

test('an order follows its status: held, captured, voided, and held again when it is paid after all', static function (): void {
    orderWith([1 => 3000]);
    Holding::hold(7, Client::forCustomer());
    setStatus('on-hold');
    same(states(), 'held');
    setStatus('cancelled');
    same([states(), Fakes::$largesse->available(1)], ['released', 3000]);
    setStatus('processing');
    same([states(), Fakes::$largesse->cards[1]], ['captured', 0]);
    setStatus('completed');
    setStatus('cancelled');
    same([states(), Fakes::$largesse->cards[1]], ['captured', 0]);
});

test('a paid order with a status of the shop is captured, and a waiting one is not', static function (): void {
    orderWith([1 => 3000]);
    Holding::hold(7, Client::forCustomer());
    setStatus('packing');
    same(states(), 'held');
    Fakes::$orders[7]['paid'] = new DateTimeImmutable();
    do_action('woocommerce_payment_complete', 7);
    same(states(), 'captured');
});

test('an amount that cannot be collected puts a paid order on hold', static function (): void {
    orderWith([1 => 3000]);
    Holding::hold(7, Client::forCustomer());
    setStatus('failed');
    Fakes::$largesse->cards[1] = 10;
    setStatus('processing');
    same([states(), wc_get_order(7)->get_status()], ['failed', 'on-hold']);
    same(str_contains(implode(Fakes::$orders[7]['notes']), 'could not be collected'), true);
    Fakes::$largesse->cards[1] = 3000;
    setStatus('processing');
    same([states(), Fakes::$largesse->cards[1]], ['captured', 0]);
});

test('a hold that staff captured elsewhere is not made again', static function (): void {
    orderWith([1 => 3000]);
    Fakes::$largesse->cards[1] = 9000;
    Holding::hold(7, Client::forCustomer());
    $id = array_key_first(Fakes::$largesse->holds);
    Fakes::$largesse->holds[$id]['status'] = 'captured';
    setStatus('processing');
    same([states(), count(Fakes::$largesse->holds)], ['failed', 1]);
});

foreach (['before', 'after'] as $fate) {
    foreach (['/holds', '/capture', '/void', '/reverse'] as $kind) {
        test("each message of $kind that is lost $fate it happened moves money once", static function () use ($fate, $kind): void {
            for ($lost = 1; $lost <= 6; $lost += 1) {
                Fakes::reset();
                orderWith([1 => 3000]);
                $left = $lost;
                Fakes::$largesse->lose = static function (string $path) use ($fate, $kind, &$left): string {
                    return str_ends_with($path, $kind) && $left-- > 0 ? $fate : 'none';
                };
                for ($attempt = 0; $attempt < 5 && states() !== 'held'; $attempt += 1) {
                    Fakes::$transients = [];
                    try {
                        Holding::hold(7, Client::forCustomer());
                    } catch (Rejected) {
                        // The customer enters the card again.
                        $cards = stored();
                        $gross = Totals::grossOf($cards->order, $cards);
                        $cards->plan([['card' => 1, 'last' => 'l1', 'units' => 3000]]);
                        $cards->set();
                        Totals::setTotal($cards->order, $gross, $cards);
                        $cards->order->save();
                    }
                    same(total() + stored()->units() / 100, 100.0, "after attempt $attempt");
                }
                same(states(), 'held', "$lost lost");
                setStatus($kind === '/void' ? 'cancelled' : 'processing');
                for ($round = 0; $round < 8; $round += 1) {
                    Fakes::$transients = [];
                    runTasks();
                }
                if ($kind === '/void') {
                    same([states(), Fakes::$largesse->available(1)], ['released', 3000], "$lost lost");
                    continue;
                }
                same([states(), Fakes::$largesse->cards[1], Fakes::$largesse->available(1)], ['captured', 0, 0], "$lost lost");
                $cards = stored();
                $cards->refunds[] = ['card' => 1, 'last' => 'l1', 'capture' => $cards->rows[0]['capture'], 'amount' => '12.5', 'external' => 'refund-1', 'state' => 'pending', 'refund' => 9, 'error' => ''];
                $cards->save();
                for ($round = 0; $round < 8; $round += 1) {
                    Fakes::$transients = [];
                    Settlement::follow(7, Client::forTask());
                }
                same([stored()->refunds[0]['state'], Fakes::$largesse->cards[1], stored()->refundableUnits()], ['done', 1250, 1750], "$lost lost");
            }
        });
    }
}

test('a refund that Largesse rejects is failed, and can be made with another amount', static function (): void {
    orderWith([1 => 3000]);
    Holding::hold(7, Client::forCustomer());
    setStatus('processing');
    $cards = stored();
    $cards->refunds[] = ['card' => 1, 'last' => 'l1', 'capture' => $cards->rows[0]['capture'], 'amount' => '31', 'external' => 'refund-1', 'state' => 'pending', 'refund' => 9, 'error' => ''];
    $cards->save();
    Settlement::follow(7, Client::forTask());
    same([stored()->refunds[0]['state'], stored()->refunds[0]['error'], stored()->refundableUnits()], ['failed', 'exceeds-reversible', 3000]);
});

test('an order is refunded completely when its cards are as well', static function (): void {
    orderWith([1 => 3000]);
    Holding::hold(7, Client::forCustomer());
    setStatus('processing');
    same(apply_filters('woocommerce_order_is_partially_refunded', false, 7, 9), true);
    $cards = stored();
    $cards->refunds[] = ['card' => 1, 'last' => 'l1', 'capture' => $cards->rows[0]['capture'], 'amount' => '30', 'external' => 'refund-1', 'state' => 'pending', 'refund' => 9, 'error' => ''];
    $cards->save();
    same(apply_filters('woocommerce_order_is_partially_refunded', false, 7, 9), false);
    same(Refunding::isPartial(true, 7), true);
});
