/** Every command, with its help. */

import { Command } from 'commander';
import { addAppProxyCommand } from './app-proxy.ts';
import { addCopyCommand } from './copy.ts';
import { addCustomerCommands } from './customer.ts';
import { addDatabaseCommands } from './database.ts';
import { addMailCommands } from './mail.ts';
import { addRestoreCommand } from './restore.ts';
import { addServeCommand } from './serve.ts';
import { addStatusCommand } from './status.ts';
import { addStoreCommands } from './store.ts';
import { addTokenCommands } from './token.ts';
import { addWebhookCommands } from './webhook.ts';
import { version } from '../version.ts';

const environment = `
Environment:
  DATABASE_URL      file of the embedded database, or a server (file:./data/largesse.db; or DATABASE_URL_FILE)
  KEYS_FILE         key file (largesse.keys.json beside the database)
  HOST, PORT        where serve listens (127.0.0.1, 3000)
  BASE_PATH         path that serve sits behind (none)
  LOG_LEVEL         trace, debug, info, warn, error, fatal or silent (info)
  RATE_LIMIT        requests per second and burst of a token, or off (500/1000)
  LOOKUP_MISSES     searches and lookups of a caller that may find nothing per hour (1000)
  TRUSTED_PROXIES   addresses and networks whose X-Forwarded-For is believed (none)
  SMTP_URL          mail server, smtp://user:password@host:587 or smtps://…; or SMTP_URL_FILE (none: in development emails are kept on this machine, elsewhere none is sent)
  MAIL_FROM         address that mails are sent from
  METRICS_TOKEN     what a scraper from elsewhere presents for /metrics (none; or METRICS_TOKEN_FILE)

Exit codes: 0 done; 1 refused, failed, or the ledger does not agree; 2 wrong usage or configuration.`;

export function program(): Command {
  const root = new Command('largesse')
    .description('A gift card service that a store runs itself.')
    .version(version)
    .showHelpAfterError('(see --help)')
    .exitOverride()
    .addHelpText('after', environment);
  addServeCommand(root);
  addStatusCommand(root);
  addDatabaseCommands(root);
  addRestoreCommand(root);
  addCopyCommand(root);
  addStoreCommands(root);
  addTokenCommands(root);
  addCustomerCommands(root);
  addWebhookCommands(root);
  addMailCommands(root);
  addAppProxyCommand(root);
  return root;
}
