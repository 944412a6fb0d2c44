/** All commands with their help. */

import { Command } from 'commander';
import { features } from '../features.ts';
import { addDatabaseCommands } from './database.ts';
import { addServeCommand, serve } from './serve.ts';
import { addSettingsPageCommand } from './settings.ts';
import { addStatusCommand } from './status.ts';
import { addStoreCommands } from './store.ts';
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
  addStatusCommand(root);
  addSettingsPageCommand(root);
  addDatabaseCommands(root);
  addStoreCommands(root);
  for (const { addCommands } of features) addCommands?.(root, { serve });
  return root;
}
