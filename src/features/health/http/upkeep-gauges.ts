/** Gauges of what only the database knows: a background job sets them. */

import { Gauge, type Registry } from 'prom-client';
import type { Delay, Upkeep } from '../service/upkeep.ts';

/**
 * @param hasBackups whether `largesse backup` makes the backups, and not a server.
 * @returns sets the gauges, which are NaN before the first call. It receives the delays of the stores that have any.
 */
export function upkeepGauges(
  registry: Registry,
  { hasBackups }: { readonly hasBackups: boolean },
): (upkeep: Upkeep, delays: readonly Delay[]) => void {
  const gauge = (name: string, help: string): Gauge => {
    const made = new Gauge({ name, help, registers: [registry] });
    made.set(Number.NaN);
    return made;
  };
  const backup = hasBackups
    ? gauge(
        'largesse_last_backup_timestamp_seconds',
        'When the service or "largesse backup" last made a verified backup, in seconds since 1970 UTC. 0: never. NaN: there are no stores. Only with the embedded database.',
      )
    : null;
  const verification = gauge(
    'largesse_last_verification_timestamp_seconds',
    'When "largesse verify" last verified the whole database, in seconds since 1970 UTC. 0: never. NaN: there are no stores.',
  );
  const problems = gauge(
    'largesse_verification_problems',
    'Problems that the last complete verification found, in the store that has most of them.',
  );
  const paused = gauge(
    'largesse_paused_webhooks',
    'Webhooks that are paused because their deliveries failed.',
  );
  const rejected = gauge(
    'largesse_payment_notifications_rejected',
    'Payment providers of stores whose notifications have wrong signatures: three in a row, without a right one since.',
  );
  const overdue = gauge(
    'largesse_emails_overdue_seconds',
    'How long ago the email that waits for longest became due. 0: none waits.',
  );
  const retried = gauge(
    'largesse_emails_retried_seconds',
    'How long ago the service first tried to send an email that is not sent yet. 0: there is none.',
  );
  const closing = gauge(
    'largesse_closing_delay_seconds',
    'How long ago the first day ended that is not closed although it could be. 0: there is none.',
  );
  const checkpoints = gauge(
    'largesse_checkpoints_due',
    'Stores whose checkpoint of the last day is missing.',
  );

  return (upkeep, delays) => {
    backup?.set(instantOf(upkeep.lastBackupAt, upkeep));
    verification.set(instantOf(upkeep.lastVerificationAt, upkeep));
    problems.set(upkeep.problems);
    paused.set(upkeep.pausedWebhooks);
    rejected.set(upkeep.rejectedHints);
    overdue.set(upkeep.emailOverdueMs / 1_000);
    retried.set(upkeep.emailRetriedMs / 1_000);
    closing.set(Math.max(0, ...delays.map(({ closingMs }) => closingMs)) / 1_000);
    checkpoints.set(delays.filter(({ needsCheckpoint }) => needsCheckpoint).length);
  };
}

function instantOf(at: number | null, { hasStores }: Pick<Upkeep, 'hasStores'>): number {
  return hasStores ? (at ?? 0) / 1_000 : Number.NaN;
}
