/** The list of cards and the page of a card: search, filters, pages, export, history and check. */

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { readTableFile } from '../../src/features/batches/service/table-file.ts';
import type { Browser } from '../support/browser.ts';
import { consoleDomain, join, openStoreWithStaff, staffPassword } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import type { TestResponse, TestService } from '../support/service.ts';
import { command } from '../support/served.ts';
import { shopOf, type Shop } from '../support/shop.ts';

let service: TestService;
let shop: Shop;
let owner: Browser;
let accountant: Browser;

before(async () => {
  service = await openStoreWithStaff();
  shop = await shopOf(service, consoleDomain);
  [owner, accountant] = [await join(service, 'owner'), await join(service, 'accountant')];
});
after(() => service[Symbol.asyncDispose]());

/** The public ids of the cards on a page of the list, in its order. */
function idsOn({ text }: TestResponse): readonly number[] {
  return [...text.matchAll(/<a class="whole" href="\/cards\/(\d+)"/g)].map(([, id]) => Number(id));
}

function linkOf({ text }: TestResponse, rel: 'prev' | 'next'): string | undefined {
  const [, path] = new RegExp(`<a class="button" rel="${rel}" href="([^"]+)"`).exec(text) ?? [];
  return path?.replaceAll('&amp;', '&');
}

async function idsOfApi(query: string): Promise<readonly number[]> {
  const ids: number[] = [];
  for (let next = ''; ;) {
    const { text } = await shop.ask(`GET /gift_cards?limit=250&${query}${next}`);
    const page = JSON.parse(text) as { gift_cards: { id: number }[]; next_cursor: string | null };
    ids.push(...page.gift_cards.map(({ id }) => id));
    if (page.next_cursor === null) return ids;
    next = `&cursor=${page.next_cursor}`;
  }
}

/** The text of a page as a person reads it. */
function shown({ text }: TestResponse): string {
  return text
    .replaceAll(/<svg.*?<\/svg>/gs, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll(/\s+/g, ' ');
}

async function find(typed: string, browser = owner): Promise<TestResponse> {
  return await browser.post('/cards/find', { q: typed });
}

test('the list has the same cards in the same order as the API, page by page in both directions', async () => {
  for (let count = 0; count < 130; count += 1)
    await shop.issue({
      initial_value: String(5 + (count % 7)),
      ...(count % 3 === 0 && { expires_on: `209${count % 5}-01-0${1 + (count % 9)}` }),
      ...(count % 4 === 0 && { recipient_name: `Person ${count}`, note: 'Sold at the COUNTER' }),
      ...(count % 5 === 0 && { recipient_email: 'grace@example.com' }),
    });
  const lists = [
    '',
    'sort=created_at',
    'sort=-balance',
    'sort=expires_on',
    'sort=-expires_on',
    'note=counter',
    'email=grace%40example.com',
    'state=active',
    'state=empty',
    'tag=none',
  ];
  for (const query of lists) {
    const expected = await idsOfApi(query);
    const pages: (readonly number[])[] = [];
    let path: string | undefined = `/cards?${query}`;
    let last = path;
    while (path !== undefined) {
      const page: TestResponse = await owner.get(path);
      assert.equal(page.status, 200, page.text);
      pages.push(idsOn(page));
      last = path;
      path = linkOf(page, 'next');
    }
    assert.deepEqual(pages.flat(), expected, query);
    const back: (readonly number[])[] = [];
    for (path = last; path !== undefined;) {
      const page: TestResponse = await owner.get(path);
      back.unshift(idsOn(page));
      path = linkOf(page, 'prev');
    }
    // The first page can overlap with the next one, because it is read from the beginning.
    assert.deepEqual([...new Set(back.flat())], expected, `${query}, backwards`);
  }
});

test('the pills and links of the list say what is shown', async () => {
  const page = await owner.get('/cards?state=active&text=counter');
  assert.match(page.text, /<a href="\/cards\?state=active&amp;text=counter" aria-current="true">Active<\/a>/);
  assert.match(shown(page), /Names and notes: counter/);
  assert.match(page.text, /aria-label="Remove the filter “Names and notes: counter”"/);
  assert.equal(page.text.match(/role="row"/g)?.length, idsOn(page).length + 1);
});

test('a forged cursor shows the first page, and a filter that no page links to is an error', async () => {
  const first = idsOn(await owner.get('/cards'));
  for (const cursor of ['x', 'WzEsIjEiLG51bGxd.AAAAAAAAAAAAAAAAAAAAAA'])
    for (const name of ['cursor', 'newer'])
      assert.deepEqual(idsOn(await owner.get(`/cards?${name}=${cursor}`)), first);
  assert.equal((await owner.get('/cards?state=lost')).status, 400);
});

test('the search field leads to the card with a code, and to the filter of every other text', async () => {
  const { id, code } = await shop.issue({ note: 'receipt1017', recipient_name: 'Margaret' });
  const grouped = code.replaceAll(/(.{4})/g, '$1 ').toUpperCase();
  for (const typed of [code, grouped, `code: ${code}`])
    assert.equal((await find(typed)).headers.get('location'), `/cards/${id}`, typed);
  const filters = {
    [code.slice(-4)]: `/cards?last_characters=${code.slice(-4)}&typed=${code.slice(-4)}`,
    '#1009': '/cards?order_id=1009',
    'grace@example.com': '/cards?email=grace%40example.com',
    Margaret: '/cards?text=Margaret',
    '“receipt1017”': '/cards?note=receipt1017',
    '': '/cards',
  };
  for (const [typed, path] of Object.entries(filters)) {
    const { status, headers } = await find(typed);
    assert.deepEqual([status, headers.get('location')], [303, path], typed);
    assert.equal((await owner.get(path)).status, 200, path);
  }
  assert.deepEqual(idsOn(await owner.get('/cards?note=receipt1017')), [id]);
  assert.deepEqual(idsOn(await owner.get('/cards?text=margaret')), [id]);
  const four = await owner.get(`/cards?last_characters=1009&typed=1009`);
  assert.match(shown(four), /Last four characters: 1009/);
  assert.match(four.text, /href="\/cards\?order_id=1009"/);
  assert.match(shown(await owner.get('/cards?last_characters=7o2p')), /Did you mean 702p/);
  assert.equal((await find('x'.repeat(301))).status, 422);
});

test('four letters that no code ends with are searched among the names', async () => {
  const { id } = await shop.issue({ recipient_name: 'Alan Turing' });
  const { headers } = await find('Alan');
  const first = await owner.get(headers.get('location') ?? '');
  assert.deepEqual([first.status, first.headers.get('location')], [303, '/cards?text=Alan&typed=Alan']);
  const names = await owner.get('/cards?text=Alan&typed=Alan');
  assert.deepEqual(idsOn(names), [id]);
  assert.match(names.text, /href="\/cards\?last_characters=alan"/);
  // A name that no card has is not searched as a code again.
  assert.equal((await owner.get('/cards?text=Zoey&typed=Zoey')).status, 200);
});

test('a replaced code leads to its card, and an unknown one to none', async () => {
  const { id, code } = await shop.issue({ email: 'ann@example.com' });
  await shop.ask(`POST /gift_card/${id}/notify`);
  const replaced = await find(code);
  assert.equal(replaced.status, 404);
  assert.match(shown(replaced), /This code was replaced/);
  assert.match(replaced.text, new RegExp(`href="/cards/${id}"`));
  const unknown = await find('7f3k9mqxvkhh22p0');
  assert.equal(unknown.status, 404);
  assert.match(shown(unknown), /No card has this code/);
  for (const { text } of [replaced, unknown]) assert.ok(!text.includes(code) && !/7f3k/i.test(text));
  // A background job records the use up to a second later, in the middle of another test.
  await until(async () => {
    const events = await service.query("select id from events where type = 'gift_card.retired_code_used'");
    return events.length > 0;
  });
});

test('failed lookups of a person use a budget of the person', async () => {
  await using limited = await openStoreWithStaff({ LOOKUP_MISSES: '5' });
  const known = await (await shopOf(limited, consoleDomain)).issue();
  const [one, other] = [await join(limited, 'owner'), await join(limited, 'accountant')];
  const attempt = (browser: Browser, typed: string) => browser.post('/cards/find', { q: typed });
  // A card that is found uses nothing.
  for (let count = 0; count < 8; count += 1) assert.equal((await attempt(one, known.code)).status, 303);
  const attempts = Array.from({ length: 9 }, (_, count) => attempt(one, `0000000000000${100 + count}`));
  const statuses = (await Promise.all(attempts))
    .map(({ status }) => status)
    .toSorted((left, right) => left - right);
  assert.deepEqual(statuses, [404, 404, 404, 404, 404, 429, 429, 429, 429]);
  const rejected = await attempt(one, known.code);
  assert.equal(rejected.status, 429);
  assert.match(rejected.headers.get('retry-after') ?? '', /^\d+$/);
  assert.equal((await attempt(other, known.code)).status, 303);
  limited.clock.advance(60 * 60 * 1_000);
  assert.equal((await attempt(one, known.code)).status, 303);
});

test('no page, header or log line has a code', async () => {
  const { id, code } = await shop.issue({ recipient_email: 'grace@example.com' });
  const responses = [
    await find(code),
    await find(` ${code.toUpperCase()} `),
    await find(`${code}${code}`),
    await owner.get('/cards'),
    await owner.get(`/cards/${id}`),
    await owner.get(`/cards/${id}/verify`),
    await owner.post('/cards/export'),
    await owner.get('/audit'),
  ];
  for (const { text, headers } of responses) {
    assert.ok(!text.toLowerCase().includes(code), text);
    assert.ok(
      !JSON.stringify([...headers])
        .toLowerCase()
        .includes(code),
    );
  }
  assert.ok(!service.log().toLowerCase().includes(code));
});

/** The cells of a CSV, which may be quoted. */
function cellsOf(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n"]*))(,|\r\n|$)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end === '\r\n') rows.push([]);
    if (end === '') break;
  }
  return rows.filter((row) => row.length > 1);
}

test('the export has the cards of the filters, without codes, and spreadsheets do not execute it', async () => {
  const formula = {
    note: `=HYPERLINK("http://x","y")\nsecond, line;=cmd|'/C calc'!A0`,
    sender_name: '@SUM(A1)',
    recipient_name: '+1 "x"',
    tags: ['-2', 'exported'],
  };
  const { id, code } = await shop.issue(formula);
  for (const query of [
    '',
    'tag=exported',
    'state=active',
    'note=counter',
    'email=grace%40example.com',
    'state=disabled',
  ]) {
    const form = Object.fromEntries(new URLSearchParams(query));
    const response = await owner.post('/cards/export', form);
    assert.equal(response.status, 200, response.text);
    assert.match(response.headers.get('content-type') ?? '', /^text\/csv/);
    assert.match(
      response.headers.get('content-disposition') ?? '',
      /^attachment; filename="gift-cards-\d{4}-\d\d-\d\d\.csv"$/,
    );
    const [head = [], ...rows] = cellsOf(response.text);
    assert.equal(head[0], 'Id');
    assert.deepEqual(
      // A long number has an apostrophe, or a spreadsheet would round it.
      rows.map(([each = '']) => Number(each.replace(/^'/, ''))),
      await idsOfApi(query),
      query,
    );
    for (const row of rows) assert.equal(row.length, head.length);
    assert.ok(!response.text.includes(code));
    for (const cell of rows.flat()) assert.doesNotMatch(cell, /(?:^|[;\t\r\n])(?:[=+@]|-(?!\d))/);
    const own = rows.find(([each]) => each === String(id));
    if (own) {
      assert.equal(own[head.indexOf('Note')], `'${formula.note.replace(';=', ";'=")}`);
      assert.equal(own[head.indexOf('Tags')], '-2, exported'.replace(/^/, "'"));
    }
  }
  const { bytes = assert.fail(), headers } = await owner.post('/cards/export', { format: 'xlsx' });
  assert.match(headers.get('content-disposition') ?? '', /gift-cards-\d{4}-\d\d-\d\d\.xlsx"$/);
  const workbook = await readTableFile(bytes, { decimalSign: '.' });
  assert.match(workbook.text, /^Id\tLast characters\tState\tEmail\tCurrency\tAmount sold\t/);
  assert.match(workbook.text, /\tActive\t/);
  const page = await owner.get('/cards/export?state=active&note=counter');
  assert.match(page.text, /<input type="hidden" name="note" value="counter">/);
  const { text } = await owner.get('/audit');
  assert.match(text, /Exported cards/);
  assert.doesNotMatch(text, /grace@example\.com/);
});

test('the export asks for the password again, and keeps its filters', async () => {
  const browser = await join(service, 'manager');
  service.clock.advance(11 * 60 * 1_000);
  const asked = await browser.get('/cards/export?note=counter&state=active');
  const next = '/cards/export?note=counter&state=active';
  assert.equal(asked.headers.get('location'), `/confirm?next=${encodeURIComponent(next)}`);
  const confirmed = await browser.post('/confirm', { password: staffPassword, next });
  assert.equal(confirmed.headers.get('location'), next);
  assert.equal((await browser.get(next)).status, 200);
  service.clock.advance(11 * 60 * 1_000);
  assert.equal(
    (await browser.post('/cards/export')).headers.get('location'),
    '/confirm?next=%2Fcards%2Fexport',
  );
});

test('the history of a card has its movements, holds, emails and changes, in pages', async () => {
  const { id } = await shop.issue({
    initial_value: '100',
    recipient_email: 'grace@example.com',
    recipient_name: 'Grace',
    sender_name: 'Alan',
    message: 'Happy birthday!',
    note: 'first',
    tags: ['VIP'],
  });
  const debit = await shop.debits(id, '24.50', { reference: 'receipt 1017' });
  await shop.ask(`POST /transactions/${debit.id}/reverse`, { json: { amount: '4.50' } });
  const hold = await shop.holds(id, '3', { reference: 'checkout 77' });
  await shop.ask(`PUT /gift_card/${id}`, { json: { note: 'second', expires_on: '2040-01-02' } });
  await shop.ask(`POST /gift_card/${id}/notify`);
  const page = await owner.get(`/cards/${id}`);
  const text = shown(page);
  for (const part of [
    'Redeemed receipt 1017 −$24.50',
    'Refunded',
    '+$4.50',
    'On hold checkout 77',
    'Email with the code',
    'to grace@example.com',
    'Changed',
    'Note: first → second',
    'New code',
    'Sold',
    '+$100.00',
    'left of $100.00 · $77.00 available, $3.00 on hold',
  ])
    assert.ok(text.includes(part), `${part}\n${text}`);
  assert.match(
    page.text,
    /aria-label="Of \$100\.00: \$77\.00 available, \$3\.00 on hold, \$20\.00 redeemed"/,
  );
  assert.match(
    page.text,
    new RegExp(`/cards/${id}/entries/${debit.id}/refund">Refund</a> <span>\\(up to \\$20\\.00\\)`),
  );
  assert.match(page.text, new RegExp(`/cards/${id}/holds/${hold.id}/release">Release`));
  for (let count = 0; count < 70; count += 1) await shop.debits(id, '0.10', { reference: `debit ${count}` });
  const references: string[] = [];
  let lines = 0;
  for (let path: string | undefined = `/cards/${id}`; path !== undefined;) {
    const older: TestResponse = await owner.get(path);
    references.push(...[...older.text.matchAll(/debit (\d+)</g)].map(([, number = '']) => number));
    lines += older.text.match(/<li class="money"|<li><div>|<li class="fail"/g)?.length ?? 0;
    path = linkOf(older, 'next');
    // A change between two pages is on neither of the older ones.
    await shop.debits(id, '0.01', { reference: 'between' });
  }
  assert.deepEqual(
    references.map(Number),
    Array.from({ length: 70 }, (_, count) => 69 - count),
  );
  // The issue, a debit and its reversal, a hold, an update, a new code, two emails, and 70 debits.
  assert.equal(lines, 78);
});

test('each role sees the actions that its permissions and the state allow', async () => {
  const { id } = await shop.issue({ email: 'ann@example.com' });
  const debit = await shop.debits(id, '5');
  const actionsOf = async (browser: Browser): Promise<readonly string[]> => {
    const { text } = await browser.get(`/cards/${id}`);
    return [...text.matchAll(new RegExp(`href="/cards/${id}/([a-z]+)`, 'g'))]
      .map(([, action = '']) => action)
      .toSorted();
  };
  const all = [
    'add',
    'adjust',
    'disable',
    'edit',
    'entries',
    'print',
    'redeem',
    'resend',
    'suspend',
    'verify',
  ];
  assert.deepEqual(await actionsOf(owner), all);
  assert.deepEqual(await actionsOf(accountant), ['verify']);
  await shop.ask(`POST /transactions/${debit.id}/reverse`);
  assert.deepEqual(
    await actionsOf(owner),
    all.filter((action) => action !== 'entries'),
  );
  await shop.ask(`PUT /gift_card/${id}`, { json: { balance: '0' } });
  assert.deepEqual(
    await actionsOf(owner),
    all.filter((action) => !['entries', 'redeem'].includes(action)),
  );
  await shop.ask(`PUT /gift_card/${id}`, { json: { balance: '5', expires_on: '2026-01-01' } });
  assert.deepEqual(await actionsOf(owner), ['adjust', 'disable', 'edit', 'verify']);
  await shop.ask(`PUT /gift_card/${id}`, { json: { disable: true } });
  assert.deepEqual(await actionsOf(owner), ['verify']);
  await command(service.environment, 'store', 'update', consoleDomain, '--undo-window', '10');
  assert.deepEqual(await actionsOf(owner), ['enable', 'verify']);
  assert.deepEqual(await actionsOf(accountant), ['verify']);
  service.clock.advance(10 * 60 * 1_000);
  assert.deepEqual(await actionsOf(owner), ['verify']);
});

test('texts of a card are escaped in every place', async () => {
  await owner.post('/confirm', { password: staffPassword, next: '/' });
  const attack = `"><script>alert(1)</script><img src=x onerror='x'>`;
  const { id } = await shop.issue({
    note: attack,
    message: `${attack}\nline`,
    sender_name: attack,
    recipient_name: attack,
    tags: [`<script>alert(1)</script>`],
  });
  await shop.debits(id, '1', { reference: attack, note: attack });
  await shop.holds(id, '1', { reference: attack, note: attack });
  await shop.ask(`PUT /gift_card/${id}`, { json: { note: `2 ${attack}` } });
  const query = new URLSearchParams({ text: attack.slice(0, 90) }).toString();
  const pages = [
    `/cards`,
    `/cards?${query}`,
    `/cards?${query}x`,
    `/cards?typed=${encodeURIComponent(attack)}&last_characters=1009`,
    `/cards/export?${query}`,
    `/cards/${id}`,
    `/cards/${id}/verify`,
    `/cards/${id}?done=${encodeURIComponent(attack)}`,
    `/cards/${id}?done=__proto__`,
  ];
  for (const path of pages) {
    const { status, text } = await owner.get(path);
    assert.equal(status, 200, path);
    assert.doesNotMatch(text, /<script>|<img|onerror='x'/, path);
  }
});

test('a notice has one of the known texts', async () => {
  const { id } = await shop.issue();
  assert.match(
    (await owner.get(`/cards/${id}?done=disabled`)).text,
    /<p class="notice good" role="status">The card was disabled\.<\/p>/,
  );
  assert.doesNotMatch((await owner.get(`/cards/${id}?done=other`)).text, /notice good/);
});

test('the check recomputes each entry, and finds one that was changed in the database', async () => {
  const { id } = await shop.issue({ initial_value: '50' });
  for (let count = 0; count < 210; count += 1) await shop.debits(id, '0.10', { reference: `no ${count}` });
  await shop.ask('POST /checkpoints');
  const newest = await accountant.get(`/cards/${id}/verify`);
  assert.match(shown(newest), /Entries 112 to 211 of 211 are as they were written/);
  assert.match(shown(newest), /Signed .* Ed25519/);
  assert.match(shown(newest), /from entry 211 of this card/);
  assert.match(shown(await accountant.get(`/cards/${id}/verify?after=0`)), /Entries 1 to 100 of 211/);
  const short = await shop.issue({ initial_value: '50' });
  assert.match(
    shown(await accountant.get(`/cards/${short.id}/verify`)),
    /The balance of \$50\.00 is proved by one entry/,
  );
  const changed = await shop.issue({ initial_value: '50' });
  await shop.debits(changed.id, '10');
  await service.database.meddle(
    `drop trigger transfers_are_not_updated;
    update transfers set amount = 900, balance_after = 4100
    where card_id = ${service.internalId(changed.id)} and kind = 'debit'`,
  );
  const wrong = await accountant.get(`/cards/${changed.id}/verify`);
  assert.match(wrong.text, /role="alert"/);
  assert.match(shown(wrong), /its content does not match its hash/);
  assert.match(shown(wrong), /has another balance/);
});

test('an address that is not a card of the store is not found', async () => {
  for (const path of ['/cards/1', '/cards/abc', '/cards/4503599627370497', '/cards/9007199254740991/verify'])
    assert.equal((await owner.get(path)).status, 404, path);
});
