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
      // Other commands do not load the HTTP server, whose libraries are most of the program.
      const { start } = await import('../main.ts');
      const service = await start(readConfig());
      const stopped = new Promise<'stop'>((resolve) => {
        process.on('SIGTERM', () => resolve('stop'));
        process.on('SIGINT', () => resolve('stop'));
      });
      const reason = await Promise.race([stopped, service.failed.then(() => 'failed' as const)]);
      await service[Symbol.asyncDispose]();
      // Exits explicitly, because an open socket of a client would keep the process alive.
      process.exit(reason === 'stop' ? 0 : 1);
    });
}
