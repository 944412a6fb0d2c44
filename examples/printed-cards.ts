/**
 * Printed cards in two shops: prints 500 codes, sells one of them in one shop, spends it in the other, adds money, suspends
 * and resumes the card, refunds the purchase by its order, and abandons a checkout without leaving a hold. It fails if the
 * reports and the entries of the shops do not agree.
 *
 *     node examples/printed-cards.ts --url http://127.0.0.1:3000 [--token lgs_…] [--time-zone Europe/Paris]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  addAmounts,
  createClient,
  type SpendableGiftCard,
  type Transaction,
} from '../packages/client/src/index.ts';
import { rejected } from './rejected.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:3000' },
    token: { type: 'string' },
    // The store's time zone: reports are of its days.
    'time-zone': { type: 'string', default: 'UTC' },
  },
});
const { cards, holds, locations, reports, stocks, transactions } = createClient({
  url: values.url,
  token: values.token,
});

function say(
  what: string,
  { balance, available, state }: Pick<SpendableGiftCard, 'balance' | 'available' | 'state'>,
): void {
  console.log(`${what.padEnd(46)} balance ${balance}  available ${available}  ${state}`);
}

/** Today in the store's time zone: YYYY-MM-DD. */
function today(): string {
  const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  return new Intl.DateTimeFormat('sv', { ...parts, timeZone: values['time-zone'] }).format(new Date());
}

async function createShop(name: string): Promise<number> {
  return (await locations.create({ name })).location.id;
}

const firstDay = today();
const [market, harbour] = [await createShop('Market Street'), await createShop('Harbour')];

let { stock } = await stocks.create({ name: 'Counter cards', count: 500, minimum_value: '10.00' });
for (let look = 0; stock.state !== 'complete'; look += 1) {
  if (look === 100) throw new Error('the stock is not complete after 20 seconds');
  await sleep(200);
  ({ stock } = await stocks.retrieve(stock.id));
}
console.log(`Printed ${stock.printed} cards`);
const { codes } = await stocks.listCodes(stock.id, { limit: 1 });
const code = codes[0]?.code;
if (code === undefined) throw new Error('the stock has no code');
console.log(`A card that is not sold: ${await rejected(cards.redeem({ code, amount: '5.00' }))}`);

await cards.create({ code, initial_value: '50.00', location_id: market });
const { gift_card: sold } = await cards.lookup({ code });
const { id } = sold;
say('Sold one for 50.00 at Market Street', sold);

/** An order of another run is another one. */
const order = `order-${id}`;
const spent = await cards.redeem({
  code,
  amount: '12.50',
  order_reference: order,
  location_id: harbour,
});
say('Spent 12.50 at Harbour', spent.gift_card);
const added = await cards.credit(id, { kind: 'top_up', amount: '20.00', location_id: market });
say('Added 20.00 at Market Street', added.gift_card);

const suspended = await cards.suspend(id, { reason: 'Reported as lost' });
say('Suspended the card, which was lost', suspended.gift_card);
console.log(`Spending it: ${await rejected(cards.redeem({ code, amount: '1.00' }))}`);
const resumed = await cards.resume(id);
say('Resumed it, because it was found', resumed.gift_card);

const [bought] = (await transactions.list({ order_reference: order })).transactions;
if (!bought) throw new Error('the order was not found');
const refunded = await transactions.reverse(bought.id, { location_id: harbour });
say('Refunded the order, found by its text', refunded.gift_card);

// A checkout whose request for a hold got no response voids it by its own id, whichever arrives first.
const checkout = `checkout-${id}`;
const lost = await rejected(holds.void(`external:${checkout}`));
console.log(`The checkout gave up before its hold arrived: ${lost}`);
const late = await rejected(cards.hold(id, { amount: '5.00', external_id: checkout }));
console.log(`The hold that arrives later: ${late}`);
const open = await holds.list({ external_id: checkout });
if (open.holds.length > 0) throw new Error('the checkout left a hold');

const history = await cards.listTransactions(id);
const total = addAmounts(...history.transactions.map(({ amount }) => amount));
const shops = new Map([
  [market, 'Market Street'],
  [harbour, 'Harbour'],
]);

console.log('\nThe entries of each shop');
const changes = new Map<number, string>();
for (const [location, name] of shops) {
  const entries: Transaction[] = [];
  for await (const entry of transactions.list({ location_id: location })) entries.push(entry);
  const change = addAmounts(...entries.map(({ amount }) => amount));
  changes.set(location, change);
  const lines = entries.toReversed().map(({ kind, amount }) => `${kind} ${amount}`);
  console.log(`${name.padEnd(15)}${lines.join(', ')}: ${change}`);
}
const ofShops = addAmounts(...changes.values());
if (total !== ofShops || total !== refunded.gift_card.balance)
  throw new Error(`the shops add up to ${ofShops}, and the history to ${total}`);
console.log(`They add up to ${total}, the balance of the card.`);

console.log('\nThe reports of each shop');
const days = { from: firstDay, to: today() };
const { activity } = await reports.activity({ ...days, by: 'location' });
const { journal } = await reports.journal({ ...days, by: 'location' });
for (const [location, name] of shops) {
  const row = activity.rows.find(({ group }) => group === String(location));
  if (!row) throw new Error(`the activity lacks ${name}`);
  const { issued, topped_up: toppedUp, redeemed, refunded: returned, adjusted, change } = row;
  const causes = addAmounts(issued, toppedUp, `-${redeemed}`, returned, adjusted);
  const alone = await reports.activity({ ...days, by: 'actor', location_id: location });
  const ofActors = addAmounts(...alone.activity.rows.map((actor) => actor.change));
  if (new Set([change, causes, ofActors, changes.get(location)]).size > 1)
    throw new Error(`${name}: ${change} by location, ${causes} by cause, ${ofActors} by actor`);
  const lines = journal.lines.filter(({ location_id: place }) => place === location);
  const debits = addAmounts(...lines.map(({ debit }) => debit));
  const credits = addAmounts(...lines.map(({ credit }) => credit));
  if (lines.length === 0 || debits !== credits)
    throw new Error(`${name}: debits ${debits} and credits ${credits}`);
  console.log(
    `${name.padEnd(15)}issued ${issued}, topped up ${toppedUp}, redeemed ${redeemed}, refunded ${returned}: ${change}`,
  );
}

({ stock } = await stocks.retrieve(stock.id));
await stocks.void(stock.id);
console.log(`\n${stock.sold} card of the stock was sold. ${stock.left} were left, which are void now.`);
