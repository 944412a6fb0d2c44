/** All commands with their help. */

import { Command } from 'commander';
import { addAppProxyCommand } from './app-proxy.ts';
import { addCardCommands } from './card.ts';
import { addCertificateCommand } from './certificate.ts';
import { addCheckpointCommands } from './checkpoint.ts';
import { addCopyCommand } from './copy.ts';
import { addCustomerCommands } from './customer.ts';
import { addDatabaseCommands } from './database.ts';
import { addDemoCommands } from './demo.ts';
import { addDoctorCommand } from './doctor.ts';
import { addEmailCommands } from './email.ts';
import { addLocationCommands } from './location.ts';
import { addHealthCommand } from './health.ts';
import { addMcpCommand } from './mcp.ts';
import { addReportsCommands } from './reports.ts';
import { addRestoreCommand } from './restore.ts';
import { addSandboxCommand } from './sandbox.ts';
import { addServeCommand } from './serve.ts';
import { addSettingsPageCommand } from './settings.ts';
import { addSetupCommands } from './setup.ts';
import { addStatusCommand } from './status.ts';
import { addStaffCommands } from './staff.ts';
import { addStockCommands } from './stock.ts';
import { addStoreCommands } from './store.ts';
import { addTokenCommands } from './token.ts';
import { addUpgradeCommand } from './upgrade.ts';
import { addWebhookCommands } from './webhook.ts';
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
