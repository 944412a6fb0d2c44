/** `largesse status` */

import type { Command } from 'commander';
import { emailTransportOf, machineRuleOf, readConfig, shownLocation, type Config } from '../start/config.ts';
import { openDatabase } from '../start/database.ts';
import { parseSmtpUrl } from '../platform/smtp-url.ts';
import { countPendingEmails } from '../core/emails/storage/email.ts';
import { hasEmailServers } from '../features/emails/storage/server.ts';
import { parallel } from '../database/sql/sql.ts';
import { listStores } from '../core/stores/storage/store.ts';
import { printFields, printJson } from './output.ts';

export function addStatusCommand(root: Command): void {
  root
    .command('status')
    .description('show where the service listens, its database and stores, and how emails are sent')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const config = readConfig();
      await using database = await openDatabase(config, { prepare: false });
      const [records, pending, hasOwn] = await database.storage.read(() =>
        parallel(listStores(), countPendingEmails(), hasEmailServers()),
      );
      const stores = records.map(({ store }) => store.domain);
      const address = addressOf(config);
      const location = shownLocation(config.database);
      const transport = emailTransportOf(config);
      const place = placeOf(config);
      if (json) {
        printJson({
          address,
          database: location,
          stores,
          emails: { way: transport, place },
          pending_emails: pending,
        });
        return;
      }
      printFields({
        address,
        database: location,
        stores: stores.join(', ') || null,
        emails: emailsOf(config, hasOwn && machineRuleOf(config) !== 'operator'),
        pending_emails: pending,
      });
    });
}

/** The URL of the service with these settings. */
function addressOf({ host, port, basePath }: Config): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}${basePath}`;
}

/** Returns where emails go: to the host and port of the mail server, or to the folder; null: nowhere. */
function placeOf(config: Config): string | null {
  switch (emailTransportOf(config)) {
    case 'smtp': {
      const server = config.email && parseSmtpUrl(config.email.url);
      return server?.ok ? `${server.value.host}:${server.value.port}` : null;
    }
    case 'folder':
      return config.emailFolder;
    case 'none':
      return null;
  }
}

function emailsOf(config: Config, hasOwnServers: boolean): string {
  switch (emailTransportOf(config)) {
    case 'smtp':
      return `sent by ${placeOf(config)}`;
    case 'folder':
      return `kept in ${placeOf(config)} and not sent: SMTP_URL is not set`;
    case 'none':
      return hasOwnServers
        ? 'sent by the mail servers of the stores: SMTP_URL is not set'
        : 'not sent: SMTP_URL is not set';
  }
}
