/** All commands with their help. */

import { Command } from 'commander';
import { addAppProxyCommand } from '../features/app-proxy/cli/app-proxy.ts';
import { addCardCommands } from '../features/card-commands/cli/card.ts';
import { addCertificateCommand } from '../features/https/cli/certificate.ts';
import { addCheckpointCommands } from '../features/proofs/cli/checkpoint.ts';
import { addCopyCommand } from '../features/moves/cli/copy.ts';
import { addCustomerCommands } from '../features/privacy/cli/customer.ts';
import { addDatabaseCommands } from './database.ts';
import { addDemoCommands } from '../features/sandbox/cli/demo.ts';
import { addDoctorCommand } from '../features/doctor/cli/doctor.ts';
import { addEmailCommands } from '../features/emails/cli/email.ts';
import { addLocationCommands } from '../features/shop-settings/cli/location.ts';
import { addHealthCommand } from '../features/health/cli/health.ts';
import { addMcpCommand } from '../features/mcp/cli/mcp.ts';
import { addReportsCommands } from '../features/books/cli/reports.ts';
import { addRestoreCommand } from '../features/backups/cli/restore.ts';
import { addSandboxCommand } from '../features/sandbox/cli/sandbox.ts';
import { addServeCommand } from './serve.ts';
import { addSettingsPageCommand } from './settings.ts';
import { addSetupCommands } from './setup.ts';
import { addStatusCommand } from './status.ts';
import { addStaffCommands } from '../features/staff/cli/staff.ts';
import { addStockCommands } from '../features/stock/cli/stock.ts';
import { addStoreCommands } from './store.ts';
import { addTokenCommands } from '../features/developers/cli/token.ts';
import { addUpgradeCommand } from '../features/upgrade/cli/upgrade.ts';
import { addWebhookCommands } from '../features/webhooks/cli/webhook.ts';
import { version } from '../platform/version.ts';

const notes = `
Settings are environment variables: see "largesse serve --help".

Exit codes: 0 success; 1 error or failed verification; 2 invalid arguments or configuration.`;

export function program(): Command {
  const root = new Command('largesse')
    .description('A gift card service that a store runs itself.')
    .version(version)
    .showHelpAfterError('(see --help)')
    .exitOverride()
    .addHelpText('after', notes);
  addServeCommand(root);
  addSandboxCommand(root);
  addUpgradeCommand(root);
  addStatusCommand(root);
  addHealthCommand(root);
  addDoctorCommand(root);
  addCertificateCommand(root);
  addSettingsPageCommand(root);
  addDatabaseCommands(root);
  addRestoreCommand(root);
  addCopyCommand(root);
  addSetupCommands(root);
  addStoreCommands(root);
  addStaffCommands(root);
  addLocationCommands(root);
  addTokenCommands(root);
  addCardCommands(root);
  addStockCommands(root);
  addReportsCommands(root);
  addCustomerCommands(root);
  addWebhookCommands(root);
  addCheckpointCommands(root);
  addEmailCommands(root);
  addAppProxyCommand(root);
  addMcpCommand(root);
  addDemoCommands(root);
  return root;
}
