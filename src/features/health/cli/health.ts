/** `largesse health` */

import type { Command } from 'commander';
import { ConfigError } from '../../../start/settings-reader.ts';
import { readListenAddress } from '../../../start/config.ts';
import { CommandError } from '../../../cli/failure.ts';
import { print } from '../../../cli/output.ts';
import { getJson, localUrl, textOfField } from '../../../cli/service-request.ts';

/** The service itself waits at most 2 s for its database. */
const timeoutMs = 4_000;

export function addHealthCommand(root: Command): void {
  root
    .command('health')
    .description(
      'check that the service on this machine is ready, at HOST and PORT, within 4 s; exit with 0 if it is, else with 1',
    )
    .action(async () => {
      print(await describeReadiness(localUrl(listenAddress()), { timeoutMs }));
    });
}

/** Describes a ready service in a line. @throws CommandError that says why it is not ready. */
export async function describeReadiness(
  url: string,
  limits: { readonly timeoutMs: number },
): Promise<string> {
  const page = `${url}/readyz`;
  let response;
  try {
    response = await getJson(page, limits);
  } catch (error) {
    throw new CommandError(`${page}: ${(error as Error).message}`, { cause: error });
  }
  const { status, json } = response;
  if (status === 200 && textOfField(json, 'status') === 'ready') return `${page}: ready`;
  const detail =
    textOfField(json, 'request_id') === undefined
      ? 'not a response of Largesse'
      : textOfField(json, 'detail');
  throw new CommandError(`${page}: not ready, status ${status}: ${detail}`);
}

/** A container engine knows only the exit codes 0 and 1, so a wrong setting does not exit with 2. */
function listenAddress(): ReturnType<typeof readListenAddress> {
  let address;
  try {
    address = readListenAddress();
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(error.problems.join('; '), { cause: error });
    throw error;
  }
  if (address.port === 0) throw new CommandError('PORT is 0, so the port of the service is not known');
  return address;
}
