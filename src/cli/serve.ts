/** `largesse serve` */

import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import type { Environment } from '../start/settings-reader.ts';
import {
  inspectEnvironment,
  readConfig,
  readInheritedSockets,
  withServeOptions,
  type ServeOptions,
} from '../start/config.ts';
import type { Log } from '../platform/log.ts';
import type { Service } from '../start/main.ts';
import type { Channel } from '../start/processes/channel.ts';
import type { EndReason } from '../start/processes/messages.ts';
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
    .option('--processes <count>', 'serve with several processes, one for each processor: PROCESSES=<count>')
    .addHelpText('after', settingsHelp)
    .action((options: ServeOptions) => serve(withServeOptions(options)));
}

type Reason = 'stop' | EndReason;

/** Runs the service until SIGTERM or SIGINT, and ends the process. */
export async function serve(environment: Environment): Promise<void> {
  const stopped = new Promise<'stop'>((resolve) => {
    process.on('SIGTERM', () => resolve('stop'));
    process.on('SIGINT', () => resolve('stop'));
  });
  const { processes } = readConfig(environment);
  if (cluster.isPrimary && processes > 1) await superviseUntil(stopped, environment);
  else await serveUntil(stopped, environment);
}

/** Serves in this process. */
async function serveUntil(stopped: Promise<'stop'>, environment: Environment): Promise<void> {
  setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent}`);
  const channel = await channelOf(environment);
  let reason: Reason;
  do {
    const service = await startWith(channel, environment);
    reason = await Promise.race([
      stopped,
      service.failed.then(() => 'failed' as const),
      service.restored.then(() => 'restored' as const),
    ]);
    // The others end as well, and are started again together.
    if (reason !== 'stop') channel?.ending(reason);
    await service[Symbol.asyncDispose]();
    // Sockets of systemd are closed with the service: systemd passes them to the next process.
  } while (reason === 'restored' && !channel && !readInheritedSockets());
  // Exits explicitly, because an open socket of a client would keep the process alive.
  process.exit(reason === 'failed' ? 1 : 0);
}

async function startWith(channel: Channel | null, environment: Environment): Promise<Service> {
  // Other commands do not load the HTTP server, whose libraries are most of the program.
  const { processOptions, start } = await import('../start/main.ts');
  const config = readConfig(environment);
  try {
    const options = await processOptions(config, channel);
    // The first process logs it for all, also if it then does not start.
    if (channel === null || channel.number === 1) logDoubts(environment, options.log.logger);
    return await start(config, options);
  } catch (error) {
    channel?.unref();
    throw error;
  }
}

/** Logs the variables that may not do what they are meant to do. */
function logDoubts(environment: Environment, logger: Log['logger']): void {
  for (const { message, remedy } of inspectEnvironment(environment).doubts)
    logger.warn(`${message}: ${remedy}`);
}

/** Null: the process is not supervised. */
async function channelOf(environment: Environment): Promise<Channel | null> {
  if (cluster.isPrimary) return null;
  const { openChannel } = await import('../start/processes/channel.ts');
  return openChannel(environment);
}

/** Supervises the processes that serve. */
async function superviseUntil(stopped: Promise<'stop'>, environment: Environment): Promise<void> {
  const { createLog } = await import('../platform/log.ts');
  const { supervise } = await import('../start/processes/supervisor.ts');
  const config = readConfig(environment);
  const log = await createLog(config, { isShared: true });
  let reason: Reason | number;
  do {
    const supervised = supervise(config.processes, log.logger);
    reason = await Promise.race([stopped, supervised.ended]);
    await supervised.stop();
  } while (reason === 'restored' && !readInheritedSockets());
  await log.flush();
  if (typeof reason === 'number') process.exit(reason);
  process.exit(reason === 'failed' ? 1 : 0);
}
