/** `largesse mcp` */

import { isSea } from 'node:sea';
import type { Command } from 'commander';
import { readConfig } from '../../../start/config.ts';
import { CommandError } from '../../../cli/failure.ts';

export function addMcpCommand(root: Command): void {
  root
    .command('mcp')
    .description('serve tools for agents over standard input and output (Model Context Protocol)')
    .option('--allow-writes', 'also offer tools that change gift cards, each after a confirmed dry run')
    .addHelpText('after', '\nLARGESSE_URL and LARGESSE_TOKEN name the service and the access token.')
    .action(async ({ allowWrites = false }: { readonly allowWrites?: boolean }) => {
      if (isSea())
        throw new CommandError(
          'the executable does not contain this command: use "npx largesse mcp" in a clone, or in a folder with the npm package',
        );
      const { agent: service } = readConfig();
      // Other commands do not load the protocol and the operations.
      const { serveAgents } = await import('../mcp/serve.ts');
      await serveAgents(service, {
        allowWrites,
        report: (problem) => console.error(`largesse mcp: ${problem}`),
      });
    });
}
