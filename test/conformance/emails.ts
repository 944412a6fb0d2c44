/** Emails of a card: queueing, delivery, states and codes. */

import { exactly } from '../../src/core/cards/domain/given-code.ts';
import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  accepts,
  bounces,
  codeIn,
  defers,
  startMailer,
  type Serve,
  type TestMailer,
} from '../support/emailing.ts';
import { addLocation } from '../../src/core/stores/service/location.ts';
import type { StorageFactory } from '../support/database.ts';
import { until } from '../support/delivering.ts';
import {
  code as codeOf,
  email,
  issueCommand,
  contextWithSlowClock,
  manualClock,
  money,
  testContext,
  updateCommand,
} from '../support/fixtures.ts';
import { listEvents, openStore, type OpenStore } from '../support/open-store.ts';
import { versionTagOf } from '../../src/core/cards/service/version.ts';
import { Fault, type FaultCode } from '../../src/core/domain/fault.ts';
import type { EmailDelivery, EmailSettings } from '../../src/core/emails/domain/email.ts';
import type { EmailRecord } from '../../src/core/customers/domain/customer-schemas.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { lookUp } from '../../src/core/cards/service/lookup.ts';
import { resumeCard, suspendCard } from '../../src/core/cards/service/suspension.ts';
import {
  changeEmailSettings,
  listCardEmails,
  sendGiftCard,
  rotateCode,
} from '../../src/core/emails/service/email.ts';
import { requireCard } from '../../src/core/cards/service/present-card.ts';
import { enqueueReminders, firstPlace, planReminders } from '../../src/features/emails/service/reminder.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import { claimEmails } from '../support/upkeep.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const noon = Date.UTC(2026, 2, 15, 12);

const ada = email('ada@example.com');
const grace = email('grace@example.com');

type Mailing = OpenStore & {
  mailer(serve?: Serve): TestMailer;
  /** The emails of a card, oldest first. */
  emails(cardId: number): Promise<readonly EmailDelivery[]>;
  settings(changes: Partial<EmailSettings>): Promise<void>;
  events(): Promise<readonly string[]>;
};

async function open(
  factory: StorageFactory,
  given: { readonly timeZone?: string; readonly at?: number } = {},
) {
  const { at = noon, timeZone = 'UTC' } = given;
  const opened = await openStore(factory, { ctx: testContext({ clock: manualClock(at) }), timeZone });
  const { storage, ctx, store } = opened;
  const mailers: TestMailer[] = [];
  const mailing: Mailing = {
    ...opened,
    mailer(serve) {
      const mailer = startMailer(opened, serve);
      mailers.push(mailer);
      return mailer;
    },
    async emails(cardId) {
      const request = { limit: 100, before: null, after: null };
      const page = await storage.read(() => listCardEmails({ storeId: store.id, cardId }, request));
      return page.items.toReversed();
    },
    async settings(changes) {
      await storage.write(() => changeEmailSettings(ctx, store.id, changes));
    },
    events: async () => (await storage.read(listEvents)).map(({ type }) => type),
    async [Symbol.asyncDispose]() {
      for (const mailer of mailers) await mailer.stop();
      await opened[Symbol.asyncDispose]();
    },
  };
  return mailing;
}

const mailed = { recipient: grace, emails: { sendAt: null } } as const;

/** Counts the emails that still have a sealed code. */
async function sealed({ storage }: Mailing): Promise<number> {
  const rows = await storage.read(() =>
    all(sql<{ id: bigint }>`select id from email_deliveries where code is not null`),
  );
  return rows.length;
}

/** Whether no email is being sent. */
async function isIdle({ storage }: Mailing): Promise<boolean> {
  const rows = await storage.read(() =>
    all(sql<{ id: bigint }>`select id from email_deliveries where lease is not null`),
  );
  return rows.length === 0;
}

async function faultOf(promise: Promise<unknown>): Promise<FaultCode | undefined> {
  const error: unknown = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (error !== undefined) assert.ok(error instanceof Fault, 'the error is not a fault');
  return error?.code;
}

export function testEmails(factory: StorageFactory): void {
  testEnqueuing(factory);
  testSending(factory);
  testSuspended(factory);
  testCodes(factory);
  testReminders(factory);
}

function testEnqueuing(factory: StorageFactory): void {
  test('a receipt has the day in the time zone of its location, and the name of it', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    const timeZone = 'Pacific/Kiritimati';
    const { id: locationId } = await storage.write(() =>
      addLocation(ctx, store.id, { name: 'Harbour', address: null, timeZone }),
    );
    const { card } = await opened.issue({ ...mailed, customer: ada, locationId });
    const mailer = opened.mailer();
    await until(() => mailer.emails.length === 2);
    const soldOn = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone }).format(card.createdAt);
    const receipt = mailer.emails.find(({ to }) => to === 'ada@example.com');
    const text = receipt?.content.text.replaceAll(/[\u2066-\u2069]/g, '') ?? '';
    assert.ok(text.includes(`${soldOn} · Harbour`), text);
    const gift = mailer.emails.find(({ to }) => to === 'grace@example.com');
    // The gift names the place that can be asked, and not the sale.
    assert.ok(gift && gift.content.text.includes('Harbour') && !gift.content.text.includes(soldOn));
  });

  test('a card is emailed to its recipient, and its buyer gets a receipt without the code', async () => {
    await using opened = await open(factory);
    const { card, code } = await opened.issue({ ...mailed, customer: ada });
    assert.equal(await sealed(opened), 1);
    const mailer = opened.mailer();
    await until(() => mailer.emails.length === 2);
    await until(async () => (await opened.emails(card.id)).every(({ state }) => state === 'sent'));
    assert.deepEqual(
      (await opened.emails(card.id)).map(({ kind, address }) => [kind, address]),
      [
        ['gift_card', 'grace@example.com'],
        ['receipt', 'ada@example.com'],
      ],
    );
    const gift = mailer.emails.find(({ to }) => to === 'grace@example.com');
    const receipt = mailer.emails.find(({ to }) => to === 'ada@example.com');
    assert.ok(gift && receipt);
    assert.equal(codeIn(gift), code.reveal());
    assert.equal(codeIn(receipt), '');
    assert.ok(!receipt.content.html.includes(code.reveal().toUpperCase().slice(0, 4)));
    assert.equal(await sealed(opened), 0);
  });

  test('a card is emailed to its recipient or else its customer, once if they are the same person', async () => {
    await using opened = await open(factory);
    const { emails } = mailed;
    const kindsOf = async (given: Parameters<Mailing['issue']>[0]) =>
      (await opened.emails((await opened.issue(given)).card.id)).map(
        ({ kind, address }) => `${kind} ${address}`,
      );
    assert.deepEqual(await kindsOf({ customer: ada, emails }), ['gift_card ada@example.com']);
    assert.deepEqual(await kindsOf({ customer: ada, recipient: email('ADA@example.com'), emails }), [
      'gift_card ada@example.com',
    ]);
    assert.deepEqual(await kindsOf({ emails }), []);
    assert.deepEqual(await kindsOf({ customer: ada, recipient: grace }), []);
    await opened.settings({ enabled: false });
    assert.deepEqual(await kindsOf({ customer: ada, recipient: grace, emails }), []);
    assert.equal(
      await faultOf(opened.issue({ recipient: grace, emails: { sendAt: noon + day } })),
      'invalid-parameter',
    );
    await opened.settings({ enabled: true });
    assert.equal((await kindsOf({ customer: ada, recipient: grace, emails })).length, 2);
  });

  test('a scheduled email waits for its time, and its receipt does not', async () => {
    await using opened = await open(factory);
    const { ctx } = opened;
    const at = noon + 3 * day;
    const { card } = await opened.issue({ recipient: grace, customer: ada, emails: { sendAt: at } });
    const mailer = opened.mailer();
    await until(() => mailer.emails.length === 1);
    assert.match(mailer.emails[0]?.content.text ?? '', /March 18, 2026/);
    ctx.clock.advance(3 * day - 1);
    mailer.wake();
    await wait(100);
    const [gift] = await opened.emails(card.id);
    assert.deepEqual([gift?.state, gift?.sendAt, gift?.attempts], ['scheduled', at, 0]);
    ctx.clock.advance(1);
    await until(() => mailer.emails.length === 2);
    assert.equal(mailer.emails[1]?.to, 'grace@example.com');
    assert.equal(mailer.emails[1]?.date, at);
  });
}

function testSending(factory: StorageFactory): void {
  test('an email first attempted while the clock was days behind is retried for 72 hours', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const slow = contextWithSlowClock(ctx, 4 * 24 * hour);
    const { card } = await storage.write(() => issue(slow, issueCommand(store, mailed)));
    const first = startMailer({ ctx: slow, storage }, () => defers);
    await until(() => first.outcomes.length > 0);
    await first.stop();
    ctx.clock.advance(hour);
    const second = opened.mailer(() => defers);
    await until(() => second.outcomes.length > 0);
    await until(() => isIdle(opened));
    assert.deepEqual([...first.outcomes, ...second.outcomes], ['deferred', 'deferred']);
    assert.deepEqual(
      (await opened.emails(card.id)).map(({ state }) => state),
      ['deferred'],
    );
  });

  test('a deferred email is retried with the same Message-ID for 72 hours, and then is dead', async () => {
    await using opened = await open(factory);
    const { ctx } = opened;
    const { card } = await opened.issue(mailed);
    const mailer = opened.mailer(() => defers);
    let last = 0;
    for (;;) {
      await until(async () => mailer.emails.length === last + 1 && (await isIdle(opened)));
      last += 1;
      const [queued] = await opened.emails(card.id);
      assert.ok(queued);
      if (queued.state === 'dead') break;
      assert.ok(queued.nextAt !== null && queued.nextAt > ctx.clock.now());
      assert.equal(await sealed(opened), 1);
      ctx.clock.advance(queued.nextAt - ctx.clock.now());
      mailer.wake();
    }
    assert.ok(last >= 20 && last <= 50, `${last} attempts`);
    const waited = ctx.clock.now() - noon;
    assert.ok(waited >= 72 * hour && waited < 77 * hour, `${waited / hour} hours`);
    assert.equal(new Set(mailer.emails.map(({ messageId }) => messageId)).size, 1);
    assert.equal(new Set(mailer.emails.map(({ date }) => date)).size, 1);
    assert.equal(await sealed(opened), 0);
    assert.deepEqual((await opened.events()).at(-1), 'gift_card.delivery_failed');
  });

  test('a permanent error ends an email at once, publishes an event, and notifies the buyer if enabled', async () => {
    await using opened = await open(factory);
    const serve: Serve = ({ to }) => (to === 'grace@example.com' ? bounces : accepts);
    const mailer = opened.mailer(serve);
    for (const notifyFailures of [false, true]) {
      await opened.settings({ notifyFailures });
      const { card, code } = await opened.issue({ ...mailed, customer: ada });
      mailer.wake();
      const expected = notifyFailures ? 3 : 2;
      await until(async () => {
        const emails = await opened.emails(card.id);
        return emails.length === expected && emails.every(({ nextAt }) => nextAt === null);
      });
      const [gift, , failed] = await opened.emails(card.id);
      assert.deepEqual([gift?.state, gift?.attempts, gift?.response], ['bounced', 1, bounces.response]);
      assert.equal(await sealed(opened), 0);
      assert.equal(failed?.kind, notifyFailures ? 'delivery_failed' : undefined);
      const events = (await opened.storage.read(listEvents)).filter(
        ({ type }) => type === 'gift_card.delivery_failed',
      );
      const { data } = events.at(-1) ?? assert.fail();
      assert.ok(!JSON.stringify(data).includes(code.reveal()));
      assert.deepEqual((data['delivery'] as EmailRecord).last_attempt?.response, bounces.response);
    }
  });

  test('an error that the operator must fix does not use the 72 hours for attempts', async () => {
    await using opened = await open(factory);
    const { ctx } = opened;
    const { card } = await opened.issue(mailed);
    let outcome: ReturnType<Serve> = {
      kind: 'deferred',
      response: '535 bad password',
      code: 535,
      cause: 'operator',
    };
    const mailer = opened.mailer(() => outcome);
    for (let round = 1; round <= 4; round += 1) {
      await until(async () => mailer.emails.length === round && (await isIdle(opened)));
      if (round === 4) break;
      if (round === 3) outcome = defers;
      ctx.clock.advance(2 * day);
      mailer.wake();
    }
    // The first temporary error of the recipient came after six days. The 72 hours start then.
    const [queued] = await opened.emails(card.id);
    assert.equal(queued?.state, 'deferred');
    assert.deepEqual(mailer.operatorNeeded(), Array(3).fill('535 bad password'));
    assert.deepEqual(
      (await opened.events()).filter((type) => type === 'gift_card.delivery_failed'),
      [],
    );
    outcome = accepts;
    ctx.clock.advance(2 * day);
    await until(async () => (await opened.emails(card.id))[0]?.state === 'sent');
  });

  test('an email whose process is killed before recording it is sent again with the same name, and counted', async () => {
    await using opened = await open(factory);
    const { ctx, storage } = opened;
    const { card } = await opened.issue(mailed);
    const now = ctx.clock.now();
    const lease = ctx.random.id();
    const claimed = await storage.write(() =>
      claimEmails({ lease, now, firstAt: now, until: now + 3 * minute, limit: 5 }),
    );
    assert.equal(claimed.length, 1);
    const others = await storage.write(() =>
      claimEmails({ lease: lease + 1, now, firstAt: now, until: now + 3 * minute, limit: 5 }),
    );
    assert.deepEqual(others, [], 'another process cannot claim it');
    const mailer = opened.mailer();
    ctx.clock.advance(3 * minute);
    mailer.wake();
    await until(async () => (await opened.emails(card.id))[0]?.state === 'sent');
    assert.equal(mailer.reclaimed(), 1);
    assert.equal((await opened.emails(card.id))[0]?.attempts, 2);
    assert.equal(mailer.emails.length, 1);
  });

  test('many processes send each email once', async () => {
    await using opened = await open(factory);
    const ids: number[] = [];
    for (let count = 0; count < 30; count += 1) ids.push((await opened.issue(mailed)).card.id);
    const mailers = [opened.mailer(), opened.mailer(), opened.mailer()];
    const total = (): number => mailers.reduce((sum, { emails }) => sum + emails.length, 0);
    await until(async () => {
      const states = await Promise.all(ids.map(async (id) => (await opened.emails(id))[0]?.state));
      return states.every((state) => state === 'sent');
    });
    assert.equal(total(), 30);
    assert.equal(await sealed(opened), 0);
  });

  test('a card that is disabled or expired when its email is due is not emailed', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    const later = { recipient: grace, emails: { sendAt: noon + 2 * day } };
    const disabled = await opened.issue(later);
    const expired = await opened.issue({ ...later, expiresOn: '2026-03-16' });
    const spent = await opened.issue(later);
    await storage.write(() => update(ctx, updateCommand(store, disabled.card.id, { disable: true })));
    await storage.write(() => update(ctx, updateCommand(store, spent.card.id, { balance: money('4') })));
    ctx.clock.advance(2 * day);
    const mailer = opened.mailer();
    const endOf = async ({ card }: typeof disabled) => {
      await until(async () => (await opened.emails(card.id))[0]?.nextAt === null);
      const [queued] = await opened.emails(card.id);
      return [queued?.state, queued?.response];
    };
    assert.deepEqual(await endOf(disabled), ['cancelled', 'the card is disabled']);
    assert.deepEqual(await endOf(expired), ['cancelled', 'the card has expired']);
    assert.deepEqual(await endOf(spent), ['sent', accepts.kind === 'sent' ? accepts.response : '']);
    assert.match(mailer.emails[0]?.content.text ?? '', /\$4\.00/);
    assert.equal(await sealed(opened), 0);
  });
}

function testSuspended(factory: StorageFactory): void {
  const on = ({ store }: Mailing, cardId: number) => ({ store, cardId, actor: 'test', versions: null });

  test('the emails of a card that is issued suspended are sent when it is resumed, and name the day', async () => {
    await using opened = await open(factory);
    const { ctx, storage } = opened;
    const { card } = await opened.issue({ ...mailed, customer: ada, isSuspended: true });
    const mailer = opened.mailer();
    const statesOf = async () => (await opened.emails(card.id)).map(({ state }) => state);
    // A held email is claimed again each day, and waits again.
    for (let days = 0; days < 3; days += 1) {
      const next = ctx.clock.now() + day;
      await until(async () => (await opened.emails(card.id)).every(({ nextAt }) => nextAt === next));
      assert.deepEqual(await statesOf(), ['scheduled', 'scheduled']);
      if (days === 2) break;
      ctx.clock.advance(day);
      mailer.wake();
    }
    assert.equal(mailer.emails.length, 0);
    assert.equal(await sealed(opened), 1);
    assert.ok((await opened.emails(card.id)).every(({ attempts }) => attempts === 0));
    await storage.write(() => resumeCard(ctx, on(opened, card.id)));
    mailer.wake();
    await until(async () => (await statesOf()).every((state) => state === 'sent'));
    assert.deepEqual(mailer.emails.map(({ to }) => to).toSorted(), ['ada@example.com', 'grace@example.com']);
    const gift = (await opened.emails(card.id)).find(({ kind }) => kind === 'gift_card');
    assert.equal(gift?.sendAt, ctx.clock.now());
    assert.equal(await sealed(opened), 0);
  });

  test('an email that is due while its card is suspended waits, and a later one keeps its time', async () => {
    await using opened = await open(factory);
    const { ctx, storage } = opened;
    const due = await opened.issue({ recipient: grace, emails: { sendAt: noon + hour } });
    const later = await opened.issue({
      recipient: grace,
      isSuspended: true,
      emails: { sendAt: noon + 3 * day },
    });
    await storage.write(() => suspendCard(ctx, { ...on(opened, due.card.id), reason: null }));
    const mailer = opened.mailer();
    ctx.clock.advance(2 * hour);
    mailer.wake();
    const nextOf = async (id: number) => (await opened.emails(id))[0]?.nextAt;
    await until(async () => (await nextOf(due.card.id)) === noon + 2 * hour + day);
    assert.equal((await opened.emails(due.card.id))[0]?.state, 'scheduled');
    for (const { card } of [due, later]) await storage.write(() => resumeCard(ctx, on(opened, card.id)));
    assert.equal(await nextOf(later.card.id), noon + 3 * day);
    mailer.wake();
    await until(async () => (await opened.emails(due.card.id))[0]?.state === 'sent');
    assert.equal((await opened.emails(later.card.id))[0]?.state, 'scheduled');
    ctx.clock.advance(3 * day);
    mailer.wake();
    await until(async () => (await opened.emails(later.card.id))[0]?.state === 'sent');
  });

  test('the emails of a suspended card that is disabled or expires are cancelled', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    const disabled = await opened.issue({ ...mailed, isSuspended: true });
    const expired = await opened.issue({ ...mailed, isSuspended: true, expiresOn: '2026-03-16' });
    await storage.write(() => update(ctx, updateCommand(store, disabled.card.id, { disable: true })));
    ctx.clock.advance(2 * day);
    opened.mailer().wake();
    for (const [{ card }, reason] of [
      [disabled, 'the card is disabled'],
      [expired, 'the card has expired'],
    ] as const) {
      await until(async () => (await opened.emails(card.id))[0]?.state === 'cancelled');
      assert.equal((await opened.emails(card.id))[0]?.response, reason);
    }
    assert.equal(await sealed(opened), 0);
  });
}

function testCodes(factory: StorageFactory): void {
  test('a card that is emailed again has a new code, and the old code finds nothing and is never reused', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    const chosen = codeOf('SPRING-2031-0001');
    const { card } = await opened.issue({ ...mailed, code: chosen });
    const command = { store, cardId: card.id, actor: 'test', versions: null };
    const notified = await storage.write(() => sendGiftCard(ctx, { ...command, canSend: true }));
    assert.equal(notified.card.version, card.version + 1);
    const found = await storage.read(() =>
      lookUp(ctx, { store, readings: exactly(chosen), usableOnly: false }),
    );
    assert.deepEqual(found, { kind: 'missed', use: { kind: 'replaced', cardId: card.id } });
    assert.equal(await faultOf(opened.issue({ code: chosen })), 'invalid-parameter');
    const mailer = opened.mailer();
    await until(async () => (await opened.emails(card.id)).at(-1)?.state === 'sent');
    assert.deepEqual(
      (await opened.emails(card.id)).map(({ state, response }) => [state, response]),
      [
        ['cancelled', 'the card has another code'],
        ['sent', '250 2.0.0 taken'],
      ],
    );
    const [sent] = mailer.emails;
    assert.ok(sent);
    const fresh = await storage.read(() =>
      lookUp(ctx, { store, readings: exactly(codeOf(codeIn(sent))), usableOnly: false }),
    );
    assert.equal(fresh.kind === 'found' && fresh.card.id, card.id);
    assert.equal(fresh.kind === 'found' && fresh.card.lastCharacters, codeIn(sent).slice(-4));
    assert.ok((await opened.events()).includes('gift_card.code_rotated'));
  });

  test('a card is emailed again at most once a minute and ten times a day, and an early request changes nothing', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    const { card } = await opened.issue(mailed);
    const command = { store, cardId: card.id, actor: 'test', versions: null, canSend: true };
    const sendAgain = () => storage.write(() => sendGiftCard(ctx, command));
    const secondsToWait = async (): Promise<number | undefined> => {
      const before = await opened.emails(card.id);
      const events = await opened.events();
      try {
        await sendAgain();
      } catch (error) {
        assert.ok(error instanceof Fault && error.code === 'too-many-requests', String(error));
        assert.deepEqual(await opened.emails(card.id), before);
        assert.deepEqual(await opened.events(), events);
        return error.retryAfterSeconds;
      }
      return undefined;
    };
    // The email sent at creation does not count.
    let { card: latest } = await sendAgain();
    for (let count = 2; count <= 10; count += 1) {
      ctx.clock.advance(1_000);
      assert.equal(await secondsToWait(), 59);
      ctx.clock.advance(58_999);
      assert.equal(await secondsToWait(), 1);
      ctx.clock.advance(1);
      ({ card: latest } = await sendAgain());
      assert.equal(latest.version, card.version + count);
    }
    // The first of the ten was sent nine minutes ago.
    ctx.clock.advance(60_000);
    assert.equal(await secondsToWait(), (day - 10 * 60_000) / 1_000);
    ctx.clock.advance(day - 10 * 60_000);
    ({ card: latest } = await sendAgain());
    assert.equal(latest.version, card.version + 11);
    assert.equal(await secondsToWait(), 60);
    // Each card has its own limits.
    const other = await opened.issue(mailed);
    await storage.write(() => sendGiftCard(ctx, { ...command, cardId: other.card.id }));
  });

  test('only one of several concurrent requests to email a card again succeeds', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    for (const recipient of [mailed, { recipient: grace }]) {
      const { card } = await opened.issue(recipient);
      const command = { store, cardId: card.id, actor: 'test', versions: null, canSend: true };
      const results = await Promise.allSettled(
        Array.from({ length: 8 }, () => storage.write(() => sendGiftCard(ctx, command))),
      );
      const rejected = results.filter(({ status }) => status === 'rejected');
      assert.equal(rejected.length, 7);
      for (const { reason } of rejected as readonly PromiseRejectedResult[])
        assert.ok(reason instanceof Fault && reason.code === 'too-many-requests', String(reason));
      const page = await storage.read(() => requireCard(store.id, card.id));
      assert.equal(page.version, card.version + 1);
    }
  });

  test('concurrent rotations all succeed in turn, and only the last code works', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    const { card, code } = await opened.issue();
    const command = { store, cardId: card.id, actor: 'test', versions: null };
    const rotated = await Promise.all(
      Array.from({ length: 4 }, () => storage.write(() => rotateCode(ctx, command))),
    );
    const found = await Promise.all(
      [code, ...rotated.map((one) => one.code)].map((each) =>
        storage.read(() => lookUp(ctx, { store, readings: exactly(each), usableOnly: false })),
      ),
    );
    assert.equal(found.filter(({ kind }) => kind === 'found').length, 1);
    assert.deepEqual(
      rotated.map((one) => one.card.version).toSorted((left, right) => left - right),
      [2, 3, 4, 5],
    );
    const versions = [versionTagOf(card)];
    assert.equal(
      await faultOf(storage.write(() => rotateCode(ctx, { ...command, versions }))),
      'precondition-failed',
    );
  });

  test('a debit during a rotation succeeds, and a redemption with a replaced code fails', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    const { card, code } = await opened.issue();
    const rotation = { store, cardId: card.id, actor: 'test', versions: null };
    const debitOf = (codeLookup?: bigint) => ({
      store,
      cardId: card.id,
      actor: 'test',
      reference: null,
      note: null,
      orderId: null,
      versions: null,
      amount: money('1'),
      partial: false,
      ...(codeLookup !== undefined && { codeLookup }),
    });
    await Promise.all([
      storage.write(() => rotateCode(ctx, rotation)),
      storage.write(() => debit(ctx, debitOf())),
    ]);
    // The redemption finds the code before the rotation, and debits the card after it.
    const found = await storage.read(() => lookUp(ctx, { store, readings: exactly(code), usableOnly: true }));
    assert.equal(found.kind, 'missed');
    const { code: second } = await storage.write(() => rotateCode(ctx, rotation));
    const current = await storage.read(() =>
      lookUp(ctx, { store, readings: exactly(second), usableOnly: true }),
    );
    assert.ok(current.kind === 'found');
    await storage.write(() => debit(ctx, debitOf(current.codeLookup)));
    await storage.write(() => rotateCode(ctx, rotation));
    await assert.rejects(storage.write(() => debit(ctx, debitOf(current.codeLookup))));
    const page = await storage.read(() =>
      lookUp(ctx, { store, readings: exactly(second), usableOnly: true }),
    );
    assert.equal(page.kind, 'missed');
  });

  test('an email cancelled while it is sent is recorded as sent only if it was', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    for (const [outcome, state] of [
      [accepts, 'sent'],
      [defers, 'cancelled'],
    ] as const) {
      const { card } = await opened.issue(mailed);
      const { promise: held, resolve: respond } = Promise.withResolvers<typeof outcome>();
      const mailer = opened.mailer(({ to, messageId }) =>
        messageId.startsWith(`<${card.id}.`) && to === 'grace@example.com' ? held : accepts,
      );
      await until(() => mailer.emails.length === 1);
      await storage.write(() => rotateCode(ctx, { store, cardId: card.id, actor: 'test', versions: null }));
      respond(outcome);
      await until(async () => mailer.outcomes.length > 0);
      await mailer.stop();
      const [queued] = await opened.emails(card.id);
      assert.deepEqual([queued?.state, queued?.nextAt], [state, null]);
    }
    assert.equal(await sealed(opened), 0);
  });

  test('only a usable card of a person with an address is emailed again, and only if the store sends emails', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    const attempt = (cardId: number, canSend = true) =>
      faultOf(
        storage.write(() => sendGiftCard(ctx, { store, cardId, actor: 'test', versions: null, canSend })),
      );
    const unaddressed = await opened.issue();
    const addressed = await opened.issue(mailed);
    const dead = await opened.issue(mailed);
    const suspended = await opened.issue({ ...mailed, isSuspended: true });
    await storage.write(() => update(ctx, updateCommand(store, dead.card.id, { disable: true })));
    const expired = await opened.issue({ ...mailed, expiresOn: '2026-03-15' });
    ctx.clock.advance(day);
    assert.equal(await attempt(unaddressed.card.id), 'no-address');
    assert.equal(await attempt(dead.card.id), 'card-disabled');
    assert.equal(await attempt(expired.card.id), 'card-expired');
    assert.equal(await attempt(suspended.card.id), 'card-suspended');
    assert.equal(await attempt(addressed.card.id, false), 'no-mail');
    await opened.settings({ enabled: false });
    assert.equal(await attempt(addressed.card.id), 'no-mail');
    assert.equal(await attempt(7), 'not-found');
    const code = await storage.read(() =>
      lookUp(ctx, { store, readings: exactly(addressed.code), usableOnly: true }),
    );
    assert.equal(code.kind, 'found');
  });
}

function testReminders(factory: StorageFactory): void {
  /** Runs all tasks of the day, three cards a page. */
  const remind = async ({ storage, ctx, store }: Mailing): Promise<void> => {
    const plan = await storage.read(() => planReminders(ctx, store));
    assert.ok(plan);
    for (const task of plan.tasks) {
      let from: typeof firstPlace | undefined = firstPlace;
      while (from) {
        const place: typeof firstPlace = from;
        from = await storage.write(() => enqueueReminders(ctx, { store, task, from: place, limit: 3 }));
      }
    }
  };
  const enqueued = async (opened: Mailing, cardId: number): Promise<readonly (string | number)[][]> =>
    (await opened.emails(cardId)).map(({ kind, sendAt }) => [kind, new Date(sendAt).toISOString()]);

  test('a reminder of the expiry is queued once for each scheduled day, at nine in the store’s time zone', async () => {
    // Clocks in Paris go forward on 29 March 2026, at 2 in the night.
    await using opened = await open(factory, { timeZone: 'Europe/Paris', at: Date.UTC(2026, 2, 1, 5) });
    const { ctx } = opened;
    await opened.settings({ expiryReminderDays: [30, 7] });
    const { card } = await opened.issue({ recipient: grace, expiresOn: '2026-04-05' });
    const never = await opened.issue({ recipient: grace });
    const unaddressed = await opened.issue({ expiresOn: '2026-04-05' });
    const others = await Promise.all(
      Array.from({ length: 7 }, () => opened.issue({ recipient: grace, expiresOn: '2026-04-05' })),
    );
    for (let count = 0; count < 40; count += 1) {
      await remind(opened);
      await remind(opened);
      ctx.clock.advance(day);
    }
    const expected = [
      ['expiry_reminder', '2026-03-06T08:00:00.000Z'],
      ['expiry_reminder', '2026-03-29T07:00:00.000Z'],
    ];
    assert.deepEqual(await enqueued(opened, card.id), expected);
    for (const other of others) assert.deepEqual(await enqueued(opened, other.card.id), expected);
    assert.deepEqual(await enqueued(opened, never.card.id), []);
    assert.deepEqual(await enqueued(opened, unaddressed.card.id), []);
  });

  test('days before the issue cause no reminder, and missed days cause one, for the nearest', async () => {
    await using opened = await open(factory);
    const { ctx } = opened;
    await opened.settings({ expiryReminderDays: [30, 7] });
    const soon = await opened.issue({ recipient: grace, expiresOn: '2026-03-18' });
    const early = await opened.issue({ recipient: grace, expiresOn: '2026-04-20' });
    await remind(opened);
    assert.deepEqual(await enqueued(opened, soon.card.id), []);
    // The service was stopped on the thirtieth and on the seventh day before.
    ctx.clock.advance(33 * day);
    await remind(opened);
    assert.deepEqual(await enqueued(opened, early.card.id), [
      ['expiry_reminder', '2026-04-17T12:00:00.000Z'],
    ]);
  });

  test('a new expiry date causes a new reminder, and spent, disabled or suspended cards cause none', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    await opened.settings({ expiryReminderDays: [7] });
    const given = { recipient: grace, expiresOn: '2026-04-20' };
    const moved = await opened.issue(given);
    const spent = await opened.issue(given);
    const disabled = await opened.issue(given);
    const suspended = await opened.issue({ ...given, isSuspended: true });
    const change = (id: number, changes: Parameters<typeof updateCommand>[2]) =>
      storage.write(() => update(ctx, updateCommand(store, id, changes)));
    ctx.clock.advance(29 * day);
    await change(spent.card.id, { balance: money('0') });
    await change(disabled.card.id, { disable: true });
    await remind(opened);
    await change(moved.card.id, { expiresOn: '2026-06-20' });
    ctx.clock.advance(61 * day);
    await remind(opened);
    assert.equal((await enqueued(opened, moved.card.id)).length, 2);
    assert.deepEqual(await enqueued(opened, spent.card.id), []);
    assert.deepEqual(await enqueued(opened, disabled.card.id), []);
    assert.deepEqual(await enqueued(opened, suspended.card.id), []);
    const mailer = opened.mailer();
    await until(async () => (await opened.emails(moved.card.id)).every(({ nextAt }) => nextAt === null));
    assert.ok(mailer.emails.every(({ content }) => codeIn({ content }) === ''));
  });

  test('a reminder of the balance is queued the given days after the issue, and not for much older cards', async () => {
    await using opened = await open(factory);
    const { ctx, storage, store } = opened;
    const old = await opened.issue({ recipient: grace });
    ctx.clock.advance(60 * day);
    await opened.settings({ balanceReminderDays: [90, 30] });
    const card = await opened.issue({ customer: ada });
    const spent = await opened.issue({ customer: ada });
    await storage.write(() => update(ctx, updateCommand(store, spent.card.id, { balance: money('0') })));
    for (let count = 0; count < 100; count += 1) {
      await remind(opened);
      ctx.clock.advance(day);
    }
    const issuedAt = noon + 60 * day;
    assert.deepEqual(
      (await opened.emails(card.card.id)).map(({ kind, sendAt }) => [
        kind,
        Math.floor((sendAt - issuedAt) / day),
      ]),
      [
        ['balance_reminder', 30],
        ['balance_reminder', 90],
      ],
    );
    assert.deepEqual(await enqueued(opened, spent.card.id), []);
    assert.equal((await enqueued(opened, old.card.id)).length, 1, 'the ninetieth day had not come yet');
  });
}
