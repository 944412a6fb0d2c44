/** `largesse serve` */

import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import type { Environment } from '../start/settings-reader.ts';
import { readConfig, readInheritedSockets, withDomain } from '../start/config.ts';
import { settingsHelp } from './settings.ts';

/**
 * By how much the heap of old objects can grow between two collections, in percent of what the last one kept. Under load
 * V8 lets it grow to three times the size, although most of the objects belong to requests that have ended.
 */
const heapGrowthPercent = 100;

export function addServeCommand(root: Command): void {
  root
    .command('serve')
    .description('run the service until SIGTERM or SIGINT')
    .option(
      '--domain <name>',
      'serve https://<name> with a certificate of its own: PUBLIC_URL=https://<name> and HTTPS=auto',
    )
    .addHelpText('after', settingsHelp)
    .action(({ domain }: { readonly domain?: string }) => serve(withDomain(domain)));
}

/** Runs the service until SIGTERM or SIGINT, and ends the process. */
export async function serve(environment: Environment): Promise<void> {
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
  // Other commands do not load the HTTP server, whose libraries are most of the program.
  const { start } = await import('../start/main.ts');
  const stopped = new Promise<'stop'>((resolve) => {
    process.on('SIGTERM', () => resolve('stop'));
    process.on('SIGINT', () => resolve('stop'));
  });
  let reason: 'stop' | 'failed' | 'restored';
  do {
    const service = await start(readConfig(environment));
    reason = await Promise.race([
      stopped,
      service.failed.then(() => 'failed' as const),
      service.restored.then(() => 'restored' as const),
    ]);
    await service[Symbol.asyncDispose]();
    // Sockets of systemd are closed with the service: systemd passes them to the next process.
  } while (reason === 'restored' && !readInheritedSockets());
  // Exits explicitly, because an open socket of a client would keep the process alive.
  process.exit(reason === 'failed' ? 1 : 0);
}
