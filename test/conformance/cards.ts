import assert from 'node:assert/strict';
import test from 'node:test';
import { systemRandom } from '../../src/platform/random.ts';
import { noDetails } from '../../src/core/cards/domain/fields.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { FieldErrors } from '../../src/core/domain/fault.ts';
import { retrieve } from '../../src/core/cards/service/card.ts';
import { issue, rejectIssue } from '../../src/core/cards/service/issue.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { findCardIdByCode } from '../../src/core/cards/storage/code.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import { listTransfers } from '../../src/core/money/storage/transfer.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { code, email, issueCommand, manualClock, money, newStore, testContext } from '../support/fixtures.ts';
import { countRows, listEvents, openStore } from '../support/open-store.ts';

const none = { cards: 0, codes: 0, customers: 0, transfers: 0, events: 0 };

export function testCards(factory: StorageFactory): void {
  test('an issued card is retrieved as issued, with its first transfer and its events', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card, code: generated } = await opened.issue({
      apiClientId: 7,
      actor: 'api_client:7',
      value: money('25.50'),
      expiresOn: '2027-01-31',
      customer: email('Ann@Example.com'),
      recipient: email('bea@example.com'),
      note: 'a note',
      senderName: 'Ann',
      recipientName: 'Bea 🎁',
      tags: '\nVIP\nä\n',
      message: 'Alles Gute 🎂',
    });
    assert.deepEqual(await storage.read(() => retrieve(store.id, card.id)), card);
    assert.deepEqual(
      { ...card, id: 0, customer: card.customer?.email, recipient: card.recipient?.email },
      {
        ...noDetails,
        storeId: store.id,
        id: 0,
        version: 1,
        initialValue: money('25.50'),
        balance: money('25.50'),
        held: money('0'),
        lastCharacters: generated.reveal().slice(-4),
        customer: 'Ann@Example.com',
        recipient: 'bea@example.com',
        note: 'a note',
        senderName: 'Ann',
        recipientName: 'Bea 🎁',
        tags: '\nVIP\nä\n',
        message: 'Alles Gute 🎂',
        expiresOn: '2027-01-31',
        disabledAt: null,
        suspendedAt: null,
        suspendReason: null,
        createdAt: ctx.clock.now(),
        lineItemId: null,
        orderId: null,
        userId: null,
        apiClientId: 7,
        vat: null,
      },
    );
    const transfers = await storage.read(() =>
      listTransfers(store.id, { after: 0, upTo: Number.MAX_SAFE_INTEGER }),
    );
    assert.deepEqual(
      transfers.map(({ transfer }) => ({ ...transfer, id: 0 })),
      [
        {
          storeId: store.id,
          cardId: card.id,
          sequence: 1,
          id: 0,
          kind: 'issue',
          amount: money('25.50'),
          debit: 'sales',
          credit: 'card',
          balanceAfter: money('25.50'),
          actor: 'api_client:7',
          reference: null,
          note: null,
          orderId: null,
          orderReference: null,
          externalId: null,
          locationId: null,
          holdId: null,
          reverses: null,
          createdAt: ctx.clock.now(),
        },
      ],
    );
    const events = await storage.read(listEvents);
    assert.deepEqual(
      events.map(({ type, subject, version }) => [type, subject, version]),
      [
        ['customer.created', card.customer?.id, 0],
        ['customer.created', card.recipient?.id, 0],
        ['gift_card.created', card.id, 1],
      ],
    );
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });

  test('a code is not stored in clear, and finds its card in every spelling', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card, code: generated } = await opened.issue({ customer: email('ann@example.com') });
    const text = generated.reveal();
    assert.match(text, /^[0-9a-z]{16}$/);
    for (const statement of [
      sql`select * from gift_cards`,
      sql`select * from gift_card_codes`,
      sql`select * from transfers`,
      sql`select * from events`,
      sql`select * from customers`,
    ]) {
      const rows = await storage.read(() => all<unknown>(statement));
      const stored = JSON.stringify(rows, (_key, value: unknown) => {
        if (typeof value === 'bigint') return String(value);
        return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
      });
      assert.ok(rows.length > 0 && !stored.toLowerCase().includes(text), statement.strings.join('?'));
    }
    const spelled = `${text.slice(0, 4).toUpperCase()}-${text.slice(4, 9)} ${text.slice(9).toUpperCase()}`;
    assert.equal(await storage.read(() => findCardIdByCode(ctx, store.id, code(spelled))), card.id);
    const other = `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`;
    assert.equal(await storage.read(() => findCardIdByCode(ctx, store.id, code(other))), undefined);
  });

  test('an issue with a used code is rejected, and the issue writes nothing', async () => {
    await using opened = await openStore(factory);
    const { storage } = opened;
    await opened.issue({ code: code('OWN-CODE-1234') });
    const before = await storage.read(countRows);
    await assert.rejects(opened.issue({ code: code('owncode1234'), customer: email('new@example.com') }), {
      code: 'invalid-parameter',
      errors: { code: ['is taken'] },
    });
    assert.deepEqual(await storage.read(countRows), before);
  });

  test('a rejected issue reports a taken code with the other errors', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    await opened.issue({ code: code('owncode1234') });
    const checkIssue = (text: string) => {
      const errors = new FieldErrors();
      errors.add('note', 'is too long');
      return storage.write(() => rejectIssue(ctx, { store, code: code(text), errors }));
    };
    await assert.rejects(checkIssue('owncode1234'), {
      errors: { note: ['is too long'], code: ['is taken'] },
    });
    await assert.rejects(checkIssue('owncode1235'), { errors: { note: ['is too long'] } });
  });

  test('a random code that is taken is generated again', async () => {
    const clock = manualClock();
    // The tag of the cohort, which the codes share, and the rest of each code.
    const sources = [3, 1, 1, 1, 2];
    let generated = 0;
    const bytes = (length: number) => {
      // The salt of a chain.
      if (length === 16) return new Uint8Array(length);
      generated += 1;
      return new Uint8Array(length).fill(sources[generated - 1] ?? assert.fail('generated too many codes'));
    };
    await using opened = await openStore(factory, { ctx: testContext({ clock, random: { bytes } }) });
    const { storage } = opened;
    const first = await opened.issue();
    const second = await opened.issue({ customer: email('ann@example.com') });
    assert.equal(generated, 5, 'the same code twice, then another');
    assert.equal(first.code.reveal(), `3333${'1'.repeat(12)}`);
    assert.equal(second.code.reveal(), `3333${'2'.repeat(12)}`);
    const counts = await storage.read(countRows);
    assert.deepEqual(counts, { cards: 2, codes: 2, customers: 1, transfers: 2, events: 3 });
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });

  test('a taken id is generated again, for every kind of row', async () => {
    const clock = manualClock();
    const random = systemRandom(clock);
    const fresh = (): number => random.id();
    // An issue without a customer generates three ids: of the card, the transfer and the event.
    for (const repeated of [0, 1, 2]) {
      const generated: number[] = [];
      let script: number[] = [];
      const id = (): number => {
        const next = script.shift() ?? fresh();
        generated.push(next);
        return next;
      };
      await using opened = await openStore(factory, { ctx: testContext({ clock, random: { id } }) });
      generated.length = 0;
      await opened.issue();
      script = generated.slice(0, 3).map((earlier, index) => (index === repeated ? earlier : fresh()));
      generated.length = 0;
      await opened.issue();
      assert.ok(generated.length > 3, `id ${repeated} was generated again`);
      const counts = await opened.storage.read(countRows);
      assert.deepEqual(counts, { ...none, cards: 2, codes: 2, transfers: 2, events: 2 });
      assert.deepEqual((await opened.storage.read(() => verify(10))).mismatches, []);
    }
  });

  test('an email address is one customer, in every spelling, as customer and as recipient', async () => {
    await using opened = await openStore(factory);
    const { storage } = opened;
    const spellings = ['Ann@Example.com', 'ann@example.com', ' ANN@EXAMPLE.COM\t'];
    const cards = await Promise.all([
      ...spellings.map((text) => opened.issue({ customer: email(text) })),
      ...spellings.map((text) => opened.issue({ recipient: email(text) })),
      opened.issue({ customer: email('ann@example.com'), recipient: email('ANN@example.com') }),
    ]);
    const people = cards.flatMap(({ card }) => [card.customer, card.recipient]).filter((who) => who !== null);
    assert.equal(people.length, 8);
    assert.equal(new Set(people.map((who) => who.id)).size, 1);
    // The order of the writes is not defined. The address stays as the first writer spelled it.
    const [given, ...others] = new Set(people.map((who) => who.email));
    assert.deepEqual(others, []);
    assert.ok(spellings.some((text) => text.trim() === given));
    assert.deepEqual((await storage.read(countRows)).customers, 1);
    const created = (await storage.read(listEvents)).filter(({ type }) => type === 'customer.created');
    assert.equal(created.length, 1);
  });

  test('an issue that fails late writes neither a customer nor an event', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const command = issueCommand(store, { customer: email('ann@example.com') });
    await assert.rejects(
      storage.write(function* () {
        yield* issue(ctx, command);
        throw new Error('a failure at the end');
      }),
    );
    assert.deepEqual(await storage.read(countRows), none);
  });

  test('amounts in currencies with any number of decimals are stored exactly', async () => {
    await using opened = await openMigrated(factory);
    const { storage } = opened;
    const ctx = testContext();
    const amounts = [
      ['JPY', '999999999999', 999_999_999_999n],
      ['USD', '999999999999.99', 99_999_999_999_999n],
      ['KWD', '0.001', 1n],
      ['CLF', '999999999999.9999', 9_999_999_999_999_999n],
    ] as const;
    for (const [currency, text, minor] of amounts) {
      const given = newStore({ domain: `${currency.toLowerCase()}.example`, currency: currencyOf(currency) });
      const store = await storage.write(() => createStore(ctx, given));
      const value = money(text, currency);
      const { card } = await storage.write(() => issue(ctx, issueCommand(store, { value })));
      const read = await storage.read(() => retrieve(store.id, card.id));
      assert.equal(read.balance.minor, minor);
      assert.equal(read.initialValue.currency.code, currency);
    }
    const { stores, mismatches } = await storage.read(() => verify(10));
    assert.deepEqual(mismatches, []);
    assert.deepEqual(
      new Map(stores.map(({ currency, outstanding }) => [currency, outstanding])),
      new Map(amounts.map(([currency, , minor]) => [currency, minor])),
    );
  });

  test('a card that does not exist is not found', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    const { card } = await opened.issue();
    for (const id of [1, card.id + 1, card.id - 1, Number.MAX_SAFE_INTEGER]) {
      await assert.rejects(
        storage.read(() => retrieve(store.id, id)),
        { code: 'not-found' },
      );
    }
  });
}
