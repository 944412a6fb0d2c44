/** Today: what is owed, what happened, and what needs attention. */

import { versionTool } from '../../upgrade/pages/tools.ts';
import { backupTool } from '../../backups/pages/tools.ts';
import { mayOwnersSetMachine } from '../../../core/stores/service/machine.ts';
import { dayOf } from '../../../core/domain/day.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { HealthFinding } from '../../health/domain/health.ts';
import { isPermitted, visiblePlaces } from '../../../core/staff/domain/staff.ts';
import type { Count } from '../../till/domain/till-day.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { sumTakenBack, sumTakenBackAt, type TakenBack } from '../../till/service/till-day.ts';
import {
  countToday,
  countWithBalance,
  findTodayState,
  listCardsUndelivered,
  type TodayCounts,
  type TodayState,
} from '../service/today-page.ts';
import { figuresTool, withoutUndone, type MovementSum, type TodayFigures } from '../service/today.ts';
import type { CardCount } from '../../../core/cards/service/list.ts';
import { findUnreachedAccountants } from '../../accountants/service/accountants.ts';
import { findBackupConcern, type BackupConcern } from '../../backups/service/backups.ts';
import { findVersionConcern, type VersionConcern } from '../../upgrade/service/versions.ts';
import { recordSetupStep } from '../../shop-settings/service/settings.ts';
import type { EmailCounts } from '../storage/today.ts';
import type { VerificationRecord } from '../../proofs/storage/verification.ts';
import type { SetupStep } from '../../../core/stores/storage/setup-step.ts';
import { monthsChart } from '../../books/pages/chart.ts';
import { amountText, figure, timeElement } from '../../../pages/kit/format.ts';
import { noRow } from './live.ts';
import { countSales } from '../../online-sales/service/list.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import { chosenPlace, listPlaces, placeField, placeText } from '../../../pages/kit/places.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import {
  seeOther,
  type ConsoleResponse,
  type StaffRequest,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { catalogue, fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import { activityRows } from './activity.ts';
import { checklist, tickedSteps, type Readiness } from './checklist.ts';
import { healthPanel, readHealth } from '../../health/pages/health.ts';
import { notices, type Concerns } from './notices.ts';
import { todayTexts } from './texts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

/** Up to so many issued cards, those with a balance are counted. */
const cardsCountedMax = 10_000;

export const todayRoutes: readonly StaffRoute[] = [
  get('/today', 'readCards', todayPage),
  post('/today/done/:step', 'changeSettings', tickStep),
];

/** Records that a person has done a step of the checklist. */
async function tickStep(page: Page): Promise<ConsoleResponse> {
  const step = tickedSteps.get(page.param('step'));
  if (!step) throw new Fault('not-found');
  await page.write(() => recordSetupStep(page.ctx, page.by, step));
  return seeOther('/today');
}

/** The locations that the person sees, and the chosen one; undefined: all of them. */
type Choice = {
  readonly locations: readonly Location[];
  readonly chosen: number | null | undefined;
};

/** The content of the page, with the figures. */
type Found = Pick<TodayCounts, 'held' | 'emails' | 'hasCards'> &
  Pick<TodayState, 'recent' | 'steps'> &
  Choice & {
    readonly figures: TodayFigures | undefined;
    /** Redemptions and sales that staff took back today. */
    readonly takenBack: TakenBack;
    /** The instant (ms) up to which the clock is trusted. */
    readonly trustedUntil: number;
    readonly withBalance: CardCount | null;
    readonly sendsEmails: boolean;
    readonly concerns: Concerns;
    readonly health: readonly HealthFinding[];
  };

async function find(page: Page): Promise<Found> {
  const { services, ctx, store, member, request } = page;
  const { signedIn } = request;
  const reads = longReads(services);
  const locations = await page.read(() => listPlaces(signedIn));
  const chosen = chosenPlace(request.query.get('location'), signedIn, locations);
  const places = visiblePlaces(member, chosen);
  const figures = await services.tools.of(figuresTool).read(store, places);
  const day = dayOf(ctx.clock.now(), store.timeZone);
  const takenBack =
    places === null
      ? await sumTakenBack({ storage: reads }, { store, day })
      : await sumTakenBackAt({ ctx, storage: reads }, { store, day, places });
  const counts = await reads.read(() => countToday(ctx, store));
  const isCounted = figures !== undefined && figures.cards <= cardsCountedMax;
  const withBalance = isCounted ? await reads.read(() => countWithBalance(ctx, store)) : null;
  const failed = await reads.read(() => listCardsUndelivered(ctx, store, member.locationIds));
  const state = await page.read(() =>
    findTodayState(ctx, store, { perHour: services.lookups.perHour, places }),
  );
  const hasTransport = services.condition.emailTransport !== 'none';
  return {
    ...counts,
    ...state,
    locations,
    chosen,
    figures,
    takenBack,
    trustedUntil: await services.condition.trustedUntil(),
    withBalance,
    sendsEmails: hasTransport && counts.settings.enabled,
    concerns: {
      ...counts,
      ...state,
      failed,
      backup: await backupConcernOf(services, signedIn),
      versions: await versionConcernOf(services, signedIn),
      unreached: isPermitted(member, 'changeSettings')
        ? await page.read(() => findUnreachedAccountants(ctx, store))
        : [],
      sales: isPermitted(member, 'manageSales') ? await page.read(() => countSales(store.id)) : undefined,
    },
    health: await readHealth(services, signedIn, { hasCards: counts.hasCards }),
  };
}

/** The concern of an owner who may set the backups up. */
async function backupConcernOf(
  { ctx, storage, tools }: ConsoleServices,
  { store, member }: StaffRequest['signedIn'],
): Promise<BackupConcern> {
  const backups = tools.of(backupTool);
  if (!backups || !isPermitted(member, 'changeSettings')) return null;
  const { rule, operatorPlace } = backups;
  return await storage.read(function* concerns() {
    const concern = yield* findBackupConcern(ctx, operatorPlace);
    return concern !== null && (yield* mayOwnersSetMachine(store, rule)) ? concern : null;
  });
}

/** The concern of an owner who may decide about the machine. */
async function versionConcernOf(
  { storage, tools }: ConsoleServices,
  { store, member }: StaffRequest['signedIn'],
): Promise<VersionConcern | null> {
  const { rule, machineRule } = tools.of(versionTool);
  if (rule.host === null || !isPermitted(member, 'changeSettings')) return null;
  return await storage.read(function* concerns() {
    const concern = yield* findVersionConcern(rule);
    return concern !== null && (yield* mayOwnersSetMachine(store, machineRule)) ? concern : null;
  });
}

async function todayPage(page: Page): Promise<ConsoleResponse> {
  const found = await find(page);
  const text = page.text.today;
  const maySell = isPermitted(page.member, 'useTill');
  const actions = maySell
    ? markup`<a class="button" href="${page.basePath}/till">${text.openTill}</a><a class="button first" href="${page.basePath}/cards/new">${text.issueCard}</a>`
    : undefined;
  const first = found.hasCards ? undefined : firstCard(page);
  const body = markup`<div class="stack">
${await healthPanel(page, found.health)}${notices(page, found.concerns)}<div class="grid two"><div class="grid">${isPermitted(page.member, 'readStore') ? balancePanel(page, found) : undefined}
${first ?? activityPanel(page, found)}</div>
<div class="grid">${sumsPanel(page, found)}
${checklist(page, readinessOf(page.services, found))}</div></div></div>`;
  const hour = hourOf(page.ctx.clock.now(), page.store);
  const greeting = found.hasCards ? text.greetings[partOfDay(hour)] : text.greetings.welcome;
  return page.show('/today', {
    title: text.title,
    heading: fillPlain(greeting, { name: page.member.name }),
    actions,
    body,
    scripts: ['live.js'],
    // The sums are ready soon.
    ...(!found.figures && { refreshSeconds: 3 }),
  });
}

function hourOf(instant: number, { timeZone }: Pick<Store, 'timeZone'>): number {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone).hour;
}

function partOfDay(hour: number): 'morning' | 'afternoon' | 'evening' {
  if (hour < 4 || hour >= 18) return 'evening';
  return hour < 12 ? 'morning' : 'afternoon';
}

function balancePanel(page: Page, found: Found): Markup {
  const text = page.text.today;
  const { figures, hasCards: hasAny } = found;
  const shown = figures
    ? markup`<p>${figure({ minor: figures.outstanding, currency: page.store.currency }, page.language)}</p>
<p class="soft small">${hasAny ? detailsOf(found, page.store, page.language) : text.noChart}</p>
${hasAny ? chartOf(page.services, page.store, page.language, { ...found, figures }) : undefined}`
    : markup`<p class="soft" role="status">${text.summing}</p>`;
  return markup`<section class="panel" aria-labelledby="outstanding"><h2 id="outstanding">${text.outstanding}</h2>
${shown}
${hasAny ? verifiedLine(found.concerns.verification, page.store, page.language) : undefined}</section>`;
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
  { figures, trustedUntil }: { readonly figures: TodayFigures; readonly trustedUntil: number },
): Markup {
  const text = todayTexts[language];
  const end = {
    day: dayOf(ctx.clock.now(), store.timeZone),
    outstanding: figures.outstanding,
    name: text.now,
    trustedUntil,
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

function movementOf({ entries, minor }: Count): MovementSum {
  return { entries, amount: minor };
}

function sumsPanel(
  page: Page,
  { figures, takenBack, emails, sendsEmails, locations, chosen }: Found,
): Markup {
  const text = page.text.today;
  const amountOf = (minor: bigint): string => page.amount({ minor, currency: page.store.currency });
  const shown = (
    { entries, amount }: MovementSum,
    counted: { readonly one: string; readonly other: string },
  ): string =>
    entries === 0 ? text.none : `${plural(page.language, counted, entries)} · ${amountOf(amount)}`;
  const sent = sendsEmails ? sentOf(emails, page.language) : text.notSetUp;
  const today = figures && withoutUndone(figures.today, takenBack);
  const day = dayOf(page.ctx.clock.now(), page.store.timeZone);
  const byLocation = markup`<p><a href="${page.basePath}/books/activity?${new URLSearchParams({ by: 'location', from: day, to: day }).toString()}">${catalogue[page.language].locations.byLocation}</a></p>`;
  const field = placeField(page.request, { locations, chosen });
  const choice =
    field &&
    markup`<form class="filters" action="${page.basePath}/today">${field}<button class="button">${page.text.reports.show}</button></form>`;
  const ifAny = (name: string, sum: MovementSum): Markup | undefined =>
    sum.entries === 0 ? undefined : line(name, shown(sum, text.times));
  const sums =
    today &&
    markup`${line(text.sold, shown(today.sold, text.soldCards))}${line(text.redeemed, shown(today.redeemed, text.times))}${line(text.refunded, shown(today.refunded, text.times))}${ifAny(text.undone, movementOf(takenBack.undone))}${ifAny(text.cancelled, movementOf(takenBack.cancelled))}${ifAny(text.added, today.added)}${ifAny(text.adjusted, today.adjusted)}`;
  return markup`<section class="panel" aria-labelledby="sums"><h2 id="sums">${text.today}</h2>${choice}${figures ? undefined : markup`<p class="soft small">${text.summing}</p>`}<dl class="facts">
${sums}${isPermitted(page.member, 'readStore') ? line(text.emails, sent) : undefined}</dl>${locations.length > 0 ? byLocation : undefined}</section>`;
}

function sentOf(emails: EmailCounts, language: PageLanguage): string {
  const text = todayTexts[language];
  if (emails.due === 0) return text.noneSent;
  const sent = numberOf(emails.sent, language);
  const sentText = fillPlain(text.emailsOf, { sent, due: atLeast(emails, language) });
  if (emails.kept === 0) return sentText;
  return `${sentText} · ${fillPlain(text.emailsKept, { count: numberOf(emails.kept, language) })}`;
}

function numberOf(count: number, language: PageLanguage): string {
  return new Intl.NumberFormat(language).format(count);
}

function atLeast({ due, isExact }: EmailCounts, language: PageLanguage): string {
  return `${isExact ? '' : '≥ '}${numberOf(due, language)}`;
}

function activityPanel(page: Page, { recent, chosen }: Pick<Found, 'recent' | 'chosen'>): Markup {
  const text = page.text.today;
  const rows = activityRows(
    { ctx: page.ctx, store: page.store, language: page.language, basePath: page.basePath },
    recent,
  );
  const { columns } = text;
  const headings = [columns.time, columns.what, columns.card, columns.who, columns.amount].map(
    (name) => markup`<th scope="col">${name}</th>`,
  );
  const after = rows.at(0)?.key ?? noRow;
  const at = chosen === undefined ? '' : `location=${placeText(chosen)}&`;
  return markup`<section class="panel flush" aria-labelledby="recent"><div class="head row apart"><h2 id="recent">${text.recent}</h2><span class="tag" hidden data-live-state data-live="${text.live}" data-lost="${text.notLive}"></span></div>
<table class="table feed" aria-labelledby="recent"><thead class="sr"><tr>${headings}</tr></thead><tbody data-live-rows data-url="${page.basePath}/live?${at}after=" data-after="${after}" data-rows="10" data-one="${text.newEntries.one}" data-other="${text.newEntries.other}">
${rows.map(({ row }) => row)}</tbody></table>
<p class="sr" role="status" data-live-summary></p></section>`;
}

function firstCard(page: Page): Markup {
  const text = page.text.today;
  const amount = amountText(
    { minor: 10n * 10n ** BigInt(page.store.currency.decimals), currency: page.store.currency },
    page.language,
  );
  const action = isPermitted(page.member, 'useTill')
    ? markup`<p><a class="button first" href="${page.basePath}/cards/new">${text.firstAction}</a></p>`
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
