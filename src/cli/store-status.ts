/** `largesse store status` */

import type { Command } from 'commander';
import { readConfig } from '../start/config.ts';
import { openDatabase } from '../start/database.ts';
import { formatInstantOrNull } from '../core/domain/day.ts';
import type { Retention } from '../core/storage/retention.ts';
import { requestLogMs } from '../features/developers/service/api-requests.ts';
import { requireStore } from '../core/stores/service/store.ts';
import { listStoredKinds, type StoredKindName } from '../core/stores/storage/size.ts';
import { printJson, printTable } from './output.ts';
import { readDomain } from './read.ts';

const hourMs = 60 * 60 * 1_000;

export function addStoreStatusCommand(store: Command): void {
  store
    .command('status')
    .description('show how many rows of each kind a store has, their size, and how long they are kept')
    .argument('<domain>', 'such as flowers.example', readDomain)
    .option('--json', 'print JSON')
    .action(async (domain: string, { json }: { readonly json?: boolean }) => {
      const config = readConfig();
      await using database = await openDatabase(config, { prepare: false });
      const kinds = await database.storage.read(function* () {
        const { store: found } = yield* requireStore(domain);
        return yield* listStoredKinds(found.id);
      });
      const rows = kinds.map(({ kind, rows: count, isMinimum, bytes, oldestAt }) => ({
        kind,
        rows: count,
        at_least: isMinimum,
        bytes,
        oldest: formatInstantOrNull(oldestAt),
        retention: retentionOf(kind, config.retention),
      }));
      if (json) printJson(rows);
      else
        printTable(
          rows.map(({ kind, at_least: isMinimum, rows: count, ...others }) => ({
            kind,
            rows: isMinimum ? `${count} or more` : String(count),
            ...others,
          })),
          { none: '' },
        );
    });
}

/** The retention period of a kind of rows, as a text. */
function retentionOf(kind: StoredKindName, retention: Retention): string {
  switch (kind) {
    case 'events':
      return shown(retention.eventsMs);
    case 'emails':
      return shown(retention.emailsMs);
    case 'webhook_deliveries':
      return shown(retention.deliveriesMs);
    case 'sessions':
      return shown(retention.sessionsMs);
    case 'idempotency_records':
      return shown(retention.idempotencyMs);
    case 'failed_lookups':
      return shown(retention.lookupsMs);
    case 'api_requests':
      return shown(requestLogMs);
    case 'gift_cards':
    case 'codes':
    case 'transfers':
    case 'changes':
    case 'holds':
    case 'customers':
      return shown(null);
  }
}

function shown(periodMs: number | null): string {
  if (periodMs === null) return 'forever';
  const hours = periodMs / hourMs;
  return hours >= 48 && hours % 24 === 0 ? `${hours / 24} days` : `${hours} hours`;
}
