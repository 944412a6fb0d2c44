/** Today: what is owed, what happened, and what needs attention. */

import { addDays, dayOf, startOfDay } from '../domain/day.ts';
import { Fault } from '../domain/fault.ts';
import { isPermitted } from '../domain/staff.ts';
import type { Store } from '../domain/store.ts';
import { markup, type Markup } from '../markup.ts';
import { countCards, listCards, type CardCount } from '../service/card-list.ts';
import { recordAction } from '../service/staff.ts';
import type { MovementSum, TodayFigures } from '../service/today.ts';
import { hasCards } from '../storage/card.ts';
import type { CardFilter } from '../storage/card-list.ts';
import { findEmailSettings } from '../storage/email.ts';
import { listSetupSteps, saveSetupStep, type SetupStep } from '../storage/setup-step.ts';
import { parallel } from '../storage/sql.ts';
import { countEmailsSince, countExpiring, sumHeld, type EmailCounts } from '../storage/today.ts';
import { findVerification, type VerificationRecord } from '../storage/verification.ts';
import { findWebhooks } from '../storage/webhook.ts';
import { activityRows, findRecentActivity, type RecentActivity } from './activity.ts';
import { monthsChart } from './chart.ts';
import { checklist, tickedSteps, type Readiness } from './checklist.ts';
import { amountText, figure, timeElement } from './format.ts';
import { noRow } from './live.ts';
import { longReads } from './long-reads.ts';
import { shellPage } from './page.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from './route.ts';
import { actingAs } from './staff-pages.ts';
import { fill, fillPlain, plural } from './texts.ts';
import { notices, type Concerns } from './today-notices.ts';
import { todayTexts } from './today-texts.ts';

const expiringDays = 30;
/** Rows that one statement counts. */
const countedMax = 2_000;
const emailsCountedMax = 10_000;
/** Up to so many issued cards, those with a balance are counted. */
const cardsCountedMax = 10_000;
const failedListed = 4;

const noFilter: CardFilter = {
  state: null,
  emailStatus: null,
  customerId: null,
  createdAt: null,
  disabledAt: null,
  expiresOn: null,
  balance: null,
  orderId: null,
  lastCharacters: null,
  note: null,
  text: null,
  tag: null,
};

export const todayRoutes: readonly StaffRoute[] = [
  { method: 'GET', path: '/today', access: 'readCards', handle: todayPage },
  { method: 'POST', path: '/today/done/:step', access: 'changeSettings', handle: tickStep },
];

/** Records that a person has done a step of the checklist. */
async function tickStep({ ctx, storage }: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const step = tickedSteps.get(request.params['step'] ?? '');
  if (!step) throw new Fault('not-found');
  const { store, member } = request.signedIn;
  await storage.write(function* () {
    yield* saveSetupStep({ storeId: store.id, step, doneAt: ctx.clock.now(), staffId: member.id });
    yield* recordAction(ctx, actingAs(request), {
      storeId: store.id,
      action: 'settings-changed',
      subjectId: null,
      details: { done: step },
    });
  });
  return seeOther('/today');
}

/** What the page shows, with the figures. Each part is a script of its own, so that none blocks others for long. */
type Found = {
  readonly figures: TodayFigures | undefined;
  readonly withBalance: CardCount | null;
  readonly held: { readonly amount: bigint; readonly isExact: boolean };
  readonly emails: EmailCounts;
  readonly sendsEmails: boolean;
  readonly hasCards: boolean;
  readonly concerns: Concerns;
  readonly recent: RecentActivity;
  readonly steps: readonly SetupStep[];
};

async function find(services: ConsoleServices, { signedIn: { store } }: StaffRequest): Promise<Found> {
  const { ctx, storage, figures: reader, condition } = services;
  const reads = longReads(services);
  const now = ctx.clock.now();
  const today = dayOf(ctx.clock.earliest(), store.timeZone);
  const days = { from: today, to: addDays(today, expiringDays) };
  const since = startOfDay(dayOf(now, store.timeZone), store.timeZone);
  const figures = await reader.read(store);
  const counted = await reads.read(() =>
    parallel(
      countExpiring(store.id, { ...days, limit: countedMax }),
      sumHeld(store.id, { now, today, limit: countedMax }),
      countEmailsSince(store.id, { since, limit: emailsCountedMax }),
      hasCards(store.id),
      findEmailSettings(store.id),
    ),
  );
  const [expiring, held, emails, hasAny, settings] = counted;
  const isCounted = figures !== undefined && figures.cards <= cardsCountedMax;
  const withBalance = isCounted
    ? await reads.read(() =>
        countCards(ctx, { store, filter: { ...noFilter, balance: { min: 1n, max: 2n ** 63n - 1n } } }),
      )
    : null;
  const failed = await reads.read(() => listFailed(services, store));
  const [webhooks, verification, steps, recent] = await storage.read(() =>
    parallel(
      findWebhooks(store.id),
      findVerification(store.id),
      listSetupSteps(store.id),
      findRecentActivity(store),
    ),
  );
  const concerns: Concerns = {
    failed,
    paused: webhooks.flatMap(({ webhook }) => (webhook.paused ? [webhook] : [])),
    expiring,
    expiringFrom: days.from,
    expiringTo: days.to,
    verification,
    isDiskLow: await condition.isDiskLow(),
    hasClockJumped: condition.clockJumpMs() !== 0,
    cannotSend: condition.emailTransport === 'none' && hasAny,
  };
  const sendsEmails = condition.emailTransport !== 'none' && settings.enabled;
  return { figures, withBalance, held, emails, sendsEmails, hasCards: hasAny, concerns, recent, steps };
}

/** Usable cards whose email could not be delivered, the newest first. */
function* listFailed({ ctx }: Pick<ConsoleServices, 'ctx'>, store: Store) {
  const listed = {
    store,
    sort: { by: 'created_at', isDescending: true },
    after: null,
    limit: failedListed,
  } as const;
  const filter = { ...noFilter, state: 'active' } as const;
  const bounced = yield* listCards(ctx, { ...listed, filter: { ...filter, emailStatus: 'bounced' } });
  const dead = yield* listCards(ctx, { ...listed, filter: { ...filter, emailStatus: 'dead' } });
  return [...bounced.cards, ...dead.cards].toSorted((left, right) => right.card.id - left.card.id);
}

async function todayPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const found = await find(services, request);
  const { language, signedIn } = request;
  const { store, member } = signedIn;
  const { basePath } = services.frame;
  const text = todayTexts[language];
  const maySell = isPermitted(member.role, 'useTill');
  const actions = maySell
    ? markup`<a class="button" href="${basePath}/till">${text.openTill}</a><a class="button first" href="${basePath}/cards/new">${text.issueCard}</a>`
    : undefined;
  const first = found.hasCards ? undefined : firstCard(services, request);
  const body = markup`<div class="stack">
${notices(services, request, found.concerns)}<div class="grid two"><div class="grid">${balancePanel(services, request, found)}
${first ?? activityPanel(services, request, found.recent)}</div>
<div class="grid">${sumsPanel(request, found)}
${checklist(services, request, readinessOf(services, found))}</div></div></div>`;
  const hour = hourOf(services.ctx.clock.now(), store);
  const greeting = found.hasCards ? text.greetings[partOfDay(hour)] : text.greetings.welcome;
  return {
    status: 200,
    body: shellPage(services, request, {
      title: text.title,
      heading: fillPlain(greeting, { name: member.name }),
      path: '/today',
      actions,
      body,
      scripts: ['live.js'],
      // The sums are ready soon.
      ...(!found.figures && { refreshSeconds: 3 }),
    }),
  };
}

function hourOf(instant: number, { timeZone }: Pick<Store, 'timeZone'>): number {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone).hour;
}

function partOfDay(hour: number): 'morning' | 'afternoon' | 'evening' {
  if (hour < 4 || hour >= 18) return 'evening';
  return hour < 12 ? 'morning' : 'afternoon';
}

function balancePanel(
  services: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  found: Found,
): Markup {
  const text = todayTexts[language];
  const { figures, hasCards: hasAny } = found;
  const shown = figures
    ? markup`<p>${figure({ minor: figures.outstanding, currency: store.currency }, language)}</p>
<p class="soft small">${hasAny ? detailsOf(found, store, language) : text.noChart}</p>
${hasAny ? chartOf(services, store, language, figures) : undefined}`
    : markup`<p class="soft" role="status">${text.summing}</p>`;
  return markup`<section class="panel" aria-labelledby="outstanding"><h2 id="outstanding">${text.outstanding}</h2>
${shown}
${hasAny ? verifiedLine(found.concerns.verification, store, language) : undefined}</section>`;
}

type PageLanguage = StaffRequest['language'];

function detailsOf(
  { figures, withBalance, held, concerns }: Found,
  store: Store,
  language: PageLanguage,
): string {
  const text = todayTexts[language];
  const { expiring } = concerns;
  const cards = withBalance?.isExact
    ? plural(language, text.onCards, withBalance.count)
    : plural(language, text.ofIssued, figures?.cards ?? 0);
  const soon = plural(language, expiring.isExact ? text.expiring : text.expiringAtLeast, expiring.count);
  const amount = amountText({ minor: held.amount, currency: store.currency }, language);
  return [
    cards,
    ...(expiring.count > 0 ? [soon] : []),
    ...(held.amount > 0n ? [fillPlain(held.isExact ? text.held : text.heldAtLeast, { amount })] : []),
  ].join(' · ');
}

function chartOf(
  { ctx }: Pick<ConsoleServices, 'ctx'>,
  store: Store,
  language: PageLanguage,
  figures: TodayFigures,
): Markup {
  const text = todayTexts[language];
  const end = {
    day: dayOf(ctx.clock.now(), store.timeZone),
    outstanding: figures.outstanding,
    name: text.now,
    title: text.chartTitle,
  };
  return monthsChart(figures, end, store, language);
}

function verifiedLine(record: VerificationRecord | undefined, store: Store, language: PageLanguage): Markup {
  const text = todayTexts[language];
  const how = markup`<details class="small"><summary>${text.verifyHow}</summary><p class="soft">${text.verifyCommand}</p><p><code class="copy">largesse verify</code></p></details>`;
  if (!record) return markup`<p class="small soft">${text.neverVerified}</p>${how}`;
  // A notice above says how many problems there are.
  if (record.mismatches > 0) return how;
  const time = timeElement(record.verifiedAt, store, language);
  return markup`<p class="small soft"><span aria-hidden="true">✓ </span>${fill(text.verified, { time })}</p>${how}`;
}

function line(name: string, value: string): Markup {
  return markup`<dt>${name}</dt><dd class="sum">${value}</dd>
`;
}

function sumsPanel(
  { language, signedIn: { store } }: StaffRequest,
  { figures, emails, sendsEmails }: Found,
): Markup {
  const text = todayTexts[language];
  const amountOf = (minor: bigint): string => amountText({ minor, currency: store.currency }, language);
  const shown = (
    { entries, amount }: MovementSum,
    counted: { readonly one: string; readonly other: string },
  ): string => (entries === 0 ? text.none : `${plural(language, counted, entries)} · ${amountOf(amount)}`);
  const sent = sendsEmails ? sentOf(emails, language) : text.notSetUp;
  const sums = figures
    ? [
        line(text.sold, shown(figures.today.sold, text.soldCards)),
        line(text.redeemed, shown(figures.today.redeemed, text.times)),
        line(text.refunded, shown(figures.today.refunded, text.times)),
        // Most shops never add to a card or adjust one.
        ...(figures.today.added.entries > 0
          ? [line(text.added, shown(figures.today.added, text.times))]
          : []),
        ...(figures.today.adjusted.entries > 0
          ? [line(text.adjusted, shown(figures.today.adjusted, text.times))]
          : []),
      ]
    : [];
  return markup`<section class="panel" aria-labelledby="sums"><h2 id="sums">${text.today}</h2>${figures ? undefined : markup`<p class="soft small">${text.summing}</p>`}<dl class="facts">
${sums}${line(text.emails, sent)}</dl></section>`;
}

function sentOf(emails: EmailCounts, language: PageLanguage): string {
  const text = todayTexts[language];
  if (emails.due === 0) return text.noneSent;
  return fillPlain(text.emailsOf, { sent: numberOf(emails.sent, language), due: atLeast(emails, language) });
}

function numberOf(count: number, language: PageLanguage): string {
  return new Intl.NumberFormat(language).format(count);
}

function atLeast({ due, isExact }: EmailCounts, language: PageLanguage): string {
  return `${isExact ? '' : '≥ '}${numberOf(due, language)}`;
}

function activityPanel(
  { ctx, frame: { basePath } }: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  recent: RecentActivity,
): Markup {
  const text = todayTexts[language];
  const rows = activityRows({ ctx, store, language, basePath }, recent);
  const { columns } = text;
  const headings = [columns.time, columns.what, columns.card, columns.who, columns.amount].map(
    (name) => markup`<th scope="col">${name}</th>`,
  );
  const after = rows.at(0)?.key ?? noRow;
  return markup`<section class="panel flush" aria-labelledby="recent"><div class="head row apart"><h2 id="recent">${text.recent}</h2><span class="tag" hidden data-live-state data-live="${text.live}" data-lost="${text.notLive}"></span></div>
<table class="table feed" aria-labelledby="recent"><thead class="sr"><tr>${headings}</tr></thead><tbody data-live-rows data-url="${basePath}/live" data-after="${after}" data-rows="10" data-one="${text.newEntries.one}" data-other="${text.newEntries.other}">
${rows.map(({ row }) => row)}</tbody></table>
<p class="sr" role="status" data-live-summary></p></section>`;
}

function firstCard(
  { frame: { basePath } }: ConsoleServices,
  { language, signedIn: { store, member } }: StaffRequest,
): Markup {
  const text = todayTexts[language];
  const amount = amountText(
    { minor: 10n * 10n ** BigInt(store.currency.decimals), currency: store.currency },
    language,
  );
  const action = isPermitted(member.role, 'useTill')
    ? markup`<p><a class="button first" href="${basePath}/cards/new">${text.firstAction}</a></p>`
    : undefined;
  return markup`<section class="panel empty" aria-labelledby="first"><svg viewBox="0 0 88 60" aria-hidden="true"><rect x="3" y="3" width="82" height="54" rx="8"/><path d="M60 3v54M3 28h82"/><path class="knot" d="M60 28c-9-13-17-8-12-3 3 3 8 3 12 3s9 0 12-3c5-5-3-10-12 3zM60 28c-2 5-5 8-8 11M60 28c2 5 5 8 8 11"/></svg>
<h2 id="first">${text.firstTitle}</h2><p class="soft">${fillPlain(text.firstText, { amount })}</p>
${action}</section>`;
}

function readinessOf({ condition }: ConsoleServices, found: Found): Readiness {
  const isDone = (name: SetupStep['step']): boolean => found.steps.some(({ step }) => step === name);
  return {
    shop: true,
    card: found.hasCards,
    email: condition.emailTransport === 'smtp',
    staff: found.recent.actors.members.filter(({ disabledAt }) => disabledAt === null).length > 1,
    keyFile: isDone('key_file'),
    backup: isDone('backup'),
  };
}
