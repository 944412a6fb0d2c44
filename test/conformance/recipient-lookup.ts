/** The results of the recipient's page, and the statements that it runs, by the state of its budgets. */

import { exactly } from '../../src/core/cards/domain/given-code.ts';
import assert from 'node:assert/strict';
import test from 'node:test';
import { Secret } from '../../src/platform/secret.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { rotateCode } from '../../src/core/emails/service/email.ts';
import {
  findAddressAsked,
  findCardOfRecipient,
  findManyWrongCodes,
  type Recipient,
  type RecipientOutcome,
} from '../../src/features/recipient/service/recipient-lookup.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { longTest } from '../support/long-test.ts';
import type { StorageFactory } from '../support/database.ts';
import { email, masterKey, testContext, updateCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';

const unknownCode = 'zzzzzzzzzzzzzzzz';
const ann = email('ann@example.com');
const hourMs = 3_600_000;
const ofClient = 20;
const ofStore = 100;

type Lookup = (
  code: string | Secret,
  options?: { readonly client?: string; readonly address?: string },
) => Promise<RecipientOutcome>;

function lookupIn(opened: OpenStore, ctx = opened.ctx): Lookup {
  const { store, storage } = opened;
  return (code, { client = '192.0.2.1', address } = {}) => {
    const recipient: Recipient = { store, client, perHour: 1_000 };
    const typed = {
      readings: exactly(typeof code === 'string' ? new Secret(code) : code),
      address: address === undefined ? null : email(address),
    };
    return storage.write(() => findCardOfRecipient(ctx, recipient, typed));
  };
}

/** A 16-digit code as plastic cards have: every digit is also a symbol of generated codes. */
function plastic(number: number): string {
  return `600649${String(number).padStart(10, '0')}`;
}

/** Runs a script and collects the text of its statements. */
function* traced<T>(script: Script<T>, texts: string[]): Script<T> {
  let step = script.next([]);
  while (step.done !== true) {
    texts.push(...step.value.statements.map(({ strings }) => strings.join('?')));
    step = script.next(yield step.value);
  }
  return step.value;
}

async function exhaustClient(lookup: Lookup): Promise<void> {
  for (let count = 0; count < ofClient; count += 1) await lookup(unknownCode);
}

async function exhaustStore(lookup: Lookup): Promise<void> {
  for (let count = 0; count < ofStore; count += 1)
    await lookup(unknownCode, { client: `203.0.113.${count}` });
}

export function testRecipientLookups(factory: StorageFactory): void {
  longTest(
    factory,
    'thousands of guesses of a client find no chosen code beyond its budget, and a generated code is found',
    async () => {
      await using opened = await openStore(factory);
      for (let number = 20; number < 3_000; number += 130)
        await opened.issue({ code: new Secret(plastic(number)) });
      const generated = await opened.issue();
      const lookup = lookupIn(opened);
      await exhaustClient(lookup);
      const outcomes = new Map<string, number>();
      for (let from = 0; from < 3_000; from += 100) {
        const guesses = Array.from({ length: 100 }, (_, place) => lookup(plastic(from + place)));
        for (const { kind } of await Promise.all(guesses)) outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
      }
      assert.deepEqual([...outcomes], [['throttled', 3_000]]);
      assert.equal((await lookup(generated.code)).kind, 'found');
    },
  );

  test('concurrent guesses of many clients cannot exceed the budget of the store', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const lookup = lookupIn(opened);
    const isAsked = () => storage.read(() => findAddressAsked(ctx, { store, perHour: 1_000 }));
    const isReported = () => storage.read(() => findManyWrongCodes(ctx, { store, perHour: 1_000 }));
    const guess = async (clients: number, first: number): Promise<number> => {
      const outcomes = await Promise.all(
        Array.from({ length: clients }, (_, place) =>
          lookup(plastic(place), { client: `10.0.${first}.${place}` }),
        ),
      );
      return outcomes.filter((each) => each.kind === 'missed' && !each.asksAddress).length;
    };
    assert.equal(await guess(40, 1), 40);
    assert.deepEqual([await isReported(), await isAsked()], [false, false]);
    assert.equal(await guess(30, 2), 30);
    assert.deepEqual([await isReported(), await isAsked()], [true, false]);
    assert.equal(await guess(100, 3), ofStore - 70);
    assert.deepEqual([await isReported(), await isAsked()], [true, true]);
    ctx.clock.advance(hourMs);
    assert.deepEqual([await isReported(), await isAsked()], [false, false]);
  });

  test('while the budget of the store is exhausted, a chosen code is found only with an address of its card', async () => {
    await using opened = await openStore(factory);
    const lookup = lookupIn(opened);
    const chosen = await opened.issue({
      code: new Secret(plastic(1)),
      customer: ann,
      recipient: email('Bea@example.com'),
    });
    const anonymous = await opened.issue({ code: new Secret(plastic(2)) });
    const generated = await opened.issue({ recipient: ann });
    await exhaustStore(lookup);
    for (const address of ['ANN@example.com', 'bea@example.com'])
      assert.equal((await lookup(chosen.code, { address })).kind, 'found');
    const withheld = { kind: 'missed', retired: [], stocked: [], asksAddress: true };
    assert.deepEqual(await lookup(chosen.code), withheld);
    assert.deepEqual(await lookup(unknownCode), withheld);
    for (const { code } of [chosen, anonymous])
      assert.deepEqual(await lookup(code, { address: 'eve@example.com' }), withheld);
    assert.equal((await lookup(generated.code)).kind, 'found');
    assert.equal((await lookup(generated.code, { address: 'eve@example.com' })).kind, 'found');
  });

  test('all codes run the same statements, whatever the budgets have left', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const generated = await opened.issue({ customer: ann });
    const chosen = await opened.issue({ code: new Secret(plastic(1)), customer: ann });
    const disabled = await opened.issue();
    const disabledChosen = await opened.issue({ code: new Secret(plastic(2)) });
    for (const { card } of [disabled, disabledChosen])
      await storage.write(() => update(ctx, updateCommand(store, card.id, { disable: true })));
    const replaced = await opened.issue();
    await storage.write(() =>
      rotateCode(ctx, { store, cardId: replaced.card.id, actor: 'test', versions: null }),
    );
    const issued = { generated, chosen, disabled, disabledChosen, replaced };
    const codes = [
      { name: 'unknown', code: new Secret(unknownCode) },
      ...Object.entries(issued).map(([name, { code }]) => ({ name, code })),
    ];
    const tracedAt = async (client: string, address: string | undefined): Promise<readonly string[]> => {
      const runs: string[][] = [];
      for (const { code } of codes) {
        const run: string[] = [];
        const typed = { readings: exactly(code), address: address === undefined ? null : email(address) };
        const recipient = { store, client, perHour: 1_000 };
        await storage.write(() => traced(findCardOfRecipient(ctx, recipient, typed), run));
        runs.push(run);
      }
      const [first = [], ...others] = runs;
      for (const [place, run] of others.entries()) assert.deepEqual(run, first, codes[place + 1]?.name ?? '');
      return first;
    };
    const lookup = lookupIn(opened);
    const whole = await tracedAt('198.51.100.1', undefined);
    assert.ok(whole.length > 4, whole.join('\n'));
    await exhaustClient(lookup);
    await tracedAt('192.0.2.1', undefined);
    await exhaustStore(lookup);
    for (const address of [undefined, 'ann@example.com', 'eve@example.com'])
      await tracedAt('198.51.100.2', address);
    await tracedAt('192.0.2.1', 'ann@example.com');
  });

  test('a code is generated under every key that generated codes have, and after it was replaced', async () => {
    const [old, young] = [masterKey('old', 1), masterKey('young', 2)];
    await using opened = await openStore(factory, { ctx: testContext({ masters: [old] }) });
    const { storage, store } = opened;
    const generated = await opened.issue();
    const chosen = await opened.issue({ code: new Secret(plastic(1)) });
    const given = await opened.issue({ code: new Secret(plastic(2)) });
    const rotated = testContext({ masters: [young, old] });
    const { code } = await storage.write(() =>
      rotateCode(rotated, { store, cardId: given.card.id, actor: 'test', versions: null }),
    );
    const lookup = lookupIn(opened, rotated);
    await exhaustClient(lookup);
    for (const found of [generated.code, code]) assert.equal((await lookup(found)).kind, 'found');
    for (const { code: withheld } of [chosen, given])
      assert.equal((await lookup(withheld)).kind, 'throttled');
  });
}
