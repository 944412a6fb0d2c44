/** When a backup is due, and which ones are removed. */

import { dayOf } from '../../../core/domain/day.ts';
import { readBackupName, type Backup, type BackupRhythm } from './backup.ts';

const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;

/** Nightly backups are made from this hour on, when shops are closed. */
const nightFromMs = 3 * hourMs;

/** Whether a backup is due. @param last when the last verified one was made (ms); null: there is none. */
export function isBackupDue(
  rhythm: BackupRhythm,
  { last, now, timeZone }: { readonly last: number | null; readonly now: number; readonly timeZone: string },
): boolean {
  if (last === null) return true;
  // After the clock was set back, the next one is not due for a long time.
  if (last > now + dayMs) return true;
  if (rhythm === 'hourly') return Math.floor(last / hourMs) < Math.floor(now / hourMs);
  return dayOf(last - nightFromMs, timeZone) < dayOf(now - nightFromMs, timeZone);
}

const retryStepsMs = [5, 20, 60, 180].map((minutes) => minutes * 60_000);

/** When the next attempt is due (ms) after failures in a row. @param random from 0 up to, not including, 1. */
export function nextBackupAttempt(
  failures: number,
  { now, random }: { readonly now: number; readonly random: number },
): number {
  const stepMs = retryStepsMs[failures - 1] ?? retryStepsMs.at(-1) ?? 0;
  return now + Math.ceil(stepMs * (0.75 + random / 4));
}

const hourlyKept = 24;
/** Also how long a person who was erased can be in a backup. */
const dailyKept = 30;

/**
 * The names of backups that are removed: all except the newest one of each of the last 24 hours and of each of the last 30
 * days, in UTC. The newest one always stays. Files that were not verified are removed only when they are 30 days old.
 * @param verified the backups that were read back. @param present the names at the place.
 */
export function backupsToRemove(
  {
    verified,
    present,
  }: { readonly verified: readonly Pick<Backup, 'name'>[]; readonly present: readonly string[] },
  now: number,
): readonly string[] {
  const known = new Set(verified.map(({ name }) => name));
  const dated = present
    .flatMap((name) => {
      const at = readBackupName(name)?.at;
      return at === undefined ? [] : [{ name, at }];
    })
    .toSorted((left, right) => {
      if (left.at !== right.at) return right.at - left.at;
      return left.name < right.name ? 1 : -1;
    });
  const kept = new Set<string>();
  const periods = new Set<string>();
  for (const { name, at } of dated) {
    if (!known.has(name)) {
      if (at > now - dailyKept * dayMs) kept.add(name);
      continue;
    }
    const age = now - at;
    const [hour, day] = [`hour ${Math.floor(at / hourMs)}`, `day ${Math.floor(at / dayMs)}`];
    const isOfHour = age < hourlyKept * hourMs && !periods.has(hour);
    const isOfDay = age < dailyKept * dayMs && !periods.has(day);
    if (periods.size === 0 || isOfHour || isOfDay) kept.add(name);
    periods.add(hour).add(day);
  }
  return dated.filter(({ name }) => !kept.has(name)).map(({ name }) => name);
}
