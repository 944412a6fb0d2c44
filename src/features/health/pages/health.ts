/** One card about everything that a person has to repair: the finding, its effect, and the next step. */

import { machineConditionTool } from './tools.ts';
import { walletTool } from '../../wallets/pages/tools.ts';
import { backupTool } from '../../backups/pages/tools.ts';
import { assessExpiry } from '../../wallets/domain/wallet.ts';
import type { HealthFinding } from '../domain/health.ts';
import { lateEmailsMax } from '../../emails/domain/late.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { readEmailServers } from '../../email-server/service/server.ts';
import { findHealth, mayBeIll } from '../service/health.ts';
import type { SignedIn } from '../../../core/staff/service/session.ts';
import { timeText } from '../../../pages/kit/format.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import { fillPlain, plural } from '../../../pages/kit/texts.ts';
import { providerName } from '../../online-sales/domain/provider-names.ts';
import { emailServerTool, emailServerPath } from '../../emails/pages/server-tool.ts';
import { backupsPath } from '../../backups/pages/recovery-sheet.ts';
import { saleSettingsPath } from '../../online-sales/pages/settings/change.ts';
import { versionsPath } from '../../upgrade/pages/versions.ts';
import { walletsPath } from '../../wallets/pages/settings.ts';

/** Reads nothing from the database if all is well. @param hasCards whether a card can wait for its email. */
export async function readHealth(
  services: ConsoleServices,
  signedIn: SignedIn,
  { hasCards }: { readonly hasCards: boolean },
): Promise<readonly HealthFinding[]> {
  const { ctx, storage, condition } = services;
  const { store, member } = signedIn;
  const machine = await services.tools.of(machineConditionTool)();
  const rule = condition.machineRule;
  const found = mayBeIll(machine, ctx.wallClock.now())
    ? [...(await storage.read(() => findHealth(ctx, { store, member, machine, rule })))]
    : [];
  found.push(...(await walletFindings(services, signedIn)));
  if (condition.emailTransport !== 'none' || !hasCards || !isPermitted(member, 'changeEmails')) return found;
  // Without a server, its absence explains why emails are late.
  return [
    { about: 'no-mail-server', level: 'error' },
    ...found.filter(({ about }) => about !== 'late-emails'),
  ];
}

/** Updates that fail for a shorter time (ms) are repeated, and mostly succeed. */
const walletFailureMs = 60 * 60_000;

/** The findings about the wallets of a store, for those who may set them up. */
async function walletFindings(
  { tools, ctx }: ConsoleServices,
  { store, member }: SignedIn,
): Promise<readonly HealthFinding[]> {
  const wallets = tools.of(walletTool);
  if (!wallets || !isPermitted(member, 'changeSettings')) return [];
  const now = ctx.wallClock.now();
  return (await wallets.of(store.id)).flatMap(({ kind, expiresAt, failingSince: since }): HealthFinding[] => {
    const expiry = assessExpiry(expiresAt, now);
    const failingSince = since !== null && since < now - walletFailureMs ? since : null;
    if (expiry) return [{ about: 'wallet', kind, level: expiry, expiresAt, failingSince: null }];
    return failingSince === null ? [] : [{ about: 'wallet', kind, level: 'error', expiresAt, failingSince }];
  });
}

function walletItem(
  page: Page,
  { kind, level, expiresAt, failingSince }: HealthFinding & { readonly about: 'wallet' },
): Item {
  const text = page.text.today.health.wallet;
  const at = failingSince ?? expiresAt ?? 0;
  const time = timeText(at, page.store, page.language);
  const title = failingSince !== null ? text.failing[kind] : text[level === 'error' ? 'expired' : 'expiring'];
  return {
    title: fillPlain(title, { time }),
    text: failingSince === null ? text.text : text.failingText,
    action: page.link(walletsPath, text.action, 'first'),
  };
}

type Item = {
  readonly title: string;
  readonly text: MarkupPart;
  readonly action?: Markup | undefined;
  /** Advice, below the text. */
  readonly below?: Markup;
};

/** Undefined: nothing is wrong. */
export async function healthPanel(
  page: Page,
  findings: readonly HealthFinding[],
): Promise<Markup | undefined> {
  if (findings.length === 0) return undefined;
  const text = page.text.today.health;
  const items: Markup[] = [];
  for (const finding of findings) {
    const { title, text: said, action, below } = await itemOf(page, finding);
    items.push(markup`<li>${iconOf(finding)}<div><strong><span class="sr">${text.levels[finding.level]}: </span>${title}</strong><p class="soft small">${said}</p>${below}</div>${action}</li>
`);
  }
  return markup`<section class="panel health" aria-labelledby="health"><h2 id="health">${plural(page.language, text.title, findings.length)}</h2><ul class="checks">
${items}</ul></section>
`;
}

function iconOf({ level }: HealthFinding): Markup {
  const drawing = level === 'error' ? markup`<path d="m6 6 12 12"/>` : markup`<path d="M12 7v5l3.5 2"/>`;
  return markup`<svg viewBox="0 0 24 24" aria-hidden="true" class="${level === 'error' ? 'bad' : 'wait'}"><circle cx="12" cy="12" r="8.5"/>${drawing}</svg>`;
}

async function itemOf(page: Page, finding: HealthFinding): Promise<Item> {
  const text = page.text.today.health;
  switch (finding.about) {
    case 'no-mail-server': {
      const action = serverAction(page);
      const said = action ? text.noServer.text : `${text.noServer.text} ${text.noServer.byOperator}`;
      return { title: text.noServer.title, text: said, action };
    }
    case 'late-emails':
      return await lateItem(page, finding);
    case 'disk': {
      const free = bytesText(finding.freeBytes, page.language);
      return { title: text.disk[finding.level], text: fillPlain(text.disk.text, { free }) };
    }
    case 'clock': {
      const title = finding.aheadMs > 0 ? text.clock.ahead : text.clock.back;
      const duration = durationText(Math.abs(finding.aheadMs), page.language);
      return { title: fillPlain(title, { duration }), text: text.clock.text };
    }
    case 'backup':
      return backupItem(page, finding);
    case 'certificate':
      return certificateItem(page, finding);
    case 'wallet':
      return walletItem(page, finding);
    case 'payment-notifications': {
      const { title, text: said, action } = text.paymentNotifications;
      const values = {
        provider: providerName(finding.kind),
        time: timeText(finding.since, page.store, page.language),
      };
      return {
        title: fillPlain(title, values),
        text: fillPlain(said, values),
        action: page.link(saleSettingsPath, action, 'first'),
      };
    }
    case 'versions': {
      const time = timeText(finding.since, page.store, page.language);
      const action = page.link(versionsPath, text.versions.action, 'first');
      return { title: text.versions.title, text: fillPlain(text.versions.text, { time }), action };
    }
  }
}

/** Undefined: the person may not set the mail server. */
function serverAction(page: Page): Markup | undefined {
  if (
    page.services.tools.of(emailServerTool).rule === 'operator' ||
    !isPermitted(page.member, 'changeSettings')
  )
    return undefined;
  return page.link(emailServerPath, page.text.today.setServer, 'first');
}

async function lateItem(
  page: Page,
  { late: { count, since, response } }: HealthFinding & { readonly about: 'late-emails' },
): Promise<Item> {
  const { health, show } = page.text.today;
  const texts = health.lateEmails;
  const time = timeText(since, page.store, page.language);
  const title =
    count < lateEmailsMax
      ? plural(page.language, texts, count, { time })
      : fillPlain(texts.atLeast, { count: new Intl.NumberFormat(page.language).format(count), time });
  if (response === null) return { title, text: texts.text, action: serverAction(page) };
  const { title: meaning, advice } = await meaningOf(page, response);
  const shown = markup`<details class="small"><summary>${show}</summary><p class="soft">${advice} ${texts.response}</p><p class="payload" dir="ltr">${response}</p></details>`;
  return { title, text: `${meaning}. ${texts.text}`, action: serverAction(page), below: shown };
}

/** The meaning of a response of the mail server, in the words of the page that sets it. */
async function meaningOf(
  page: Page,
  response: string,
): Promise<{ readonly title: string; readonly advice: string }> {
  const { ofOperator, troubleIn } = page.services.tools.of(emailServerTool);
  const { verified } = await page.read(() => readEmailServers(page.store.id));
  const server = ofOperator ?? verified;
  const { title, advice } = page.text.emailServer.troubles[troubleIn(response)];
  const own = ofOperator ? undefined : verified;
  const values = {
    host: server?.host ?? '',
    port: String(server?.port ?? ''),
    user: own?.user ?? '',
    sender: own?.sender ?? '',
  };
  return { title: fillPlain(title, values), advice: fillPlain(advice, values) };
}

/** A command with what it is for, folded. */
function how(page: Page, said: string, command: string): Markup {
  return markup`<details class="small"><summary>${page.text.today.show}</summary><p class="soft">${said}</p><p><code class="copy">${command}</code></p></details>`;
}

function backupItem(page: Page, { lastAt }: HealthFinding & { readonly about: 'backup' }): Item {
  const { health, backupHow } = page.text.today;
  const texts = health.backup;
  const backups = page.services.tools.of(backupTool);
  const action = backups ? page.link(backupsPath, page.text.backups.concern.link, 'first') : undefined;
  const below = how(page, backupHow, 'largesse backup <file>');
  if (lastAt === null) return { title: texts.never, text: texts.text, action, below };
  const duration = durationText(page.realNow - lastAt, page.language);
  const time = timeText(lastAt, page.store, page.language);
  return {
    title: fillPlain(texts.old, { duration }),
    text: `${fillPlain(texts.last, { time })} ${texts.text}`,
    action,
    below,
  };
}

function certificateItem(
  page: Page,
  { level, until, failure }: HealthFinding & { readonly about: 'certificate' },
): Item {
  const { health } = page.text.today;
  const texts = health.certificate;
  const end =
    until === null ? [] : [fillPlain(texts.until, { time: timeText(until, page.store, page.language) })];
  const next =
    failure && failure.nextAt !== null
      ? [fillPlain(texts.next, { time: timeText(failure.nextAt, page.store, page.language) })]
      : [];
  const failed = failure
    ? markup`${plural(page.language, texts.failed, failure.failures)} <span lang="en">${failure.why}</span> `
    : undefined;
  return {
    title: certificateTitle(page, { level, until }),
    text: markup`${[...end, texts.text].join(' ')} ${failed}${next}`,
    below: how(page, health.doctor, 'largesse doctor'),
  };
}

function certificateTitle(
  page: Page,
  { level, until }: Pick<HealthFinding & { readonly about: 'certificate' }, 'level' | 'until'>,
): string {
  const texts = page.text.today.health.certificate;
  if (until === null) return texts.missing;
  if (level === 'error') return texts.invalid;
  return fillPlain(texts.ending, { duration: durationText(until - page.realNow, page.language) });
}

const units = [
  ['day', 24 * 60 * 60 * 1_000],
  ['hour', 60 * 60 * 1_000],
  ['minute', 60 * 1_000],
] as const;

/** A time in days, hours or minutes: at least two of the unit, rounded down. */
function durationText(exactMs: number, language: string): string {
  // A clock that has jumped by three hours is a moment behind them.
  const ms = exactMs + 30_000;
  const [unit, length] = units.find(([, each]) => ms >= 2 * each) ?? units[2];
  const options = { style: 'unit', unit, unitDisplay: 'long', maximumFractionDigits: 0 } as const;
  return new Intl.NumberFormat(language, options).format(Math.floor(ms / length));
}

function bytesText(bytes: number, language: string): string {
  const isLarge = bytes >= 2 ** 30;
  const options = {
    style: 'unit',
    unit: isLarge ? 'gigabyte' : 'megabyte',
    maximumFractionDigits: isLarge ? 1 : 0,
  } as const;
  return new Intl.NumberFormat(language, options).format(bytes / (isLarge ? 2 ** 30 : 2 ** 20));
}
