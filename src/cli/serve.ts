/** `largesse serve` */

import type { Command } from 'commander';
import { readConfig } from '../config.ts';
import { settingsHelp } from './settings.ts';

export function addServeCommand(root: Command): void {
  root
    .command('serve')
    .description('run the service until SIGTERM or SIGINT')
    .addHelpText('after', settingsHelp)
    .action(async () => {
      // Other commands start without the HTTP server: most of the program is its libraries.
      const { start } = await import('../main.ts');
      const service = await start(readConfig());
      const stopped = new Promise<'stop'>((resolve) => {
        process.on('SIGTERM', () => resolve('stop'));
        process.on('SIGINT', () => resolve('stop'));
      });
      const reason = await Promise.race([stopped, service.failed.then(() => 'failed' as const)]);
      await service[Symbol.asyncDispose]();
      // Said outright: a socket of a client that does not let go must not keep the process.
      process.exit(reason === 'stop' ? 0 : 1);
    });
}
