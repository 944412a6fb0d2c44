/** `largesse mcp` with messages and settings that are not valid. It needs no service for that. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { messageBytesMax } from '../../src/features/mcp/mcp/serve.ts';
import { runCommand } from '../support/command-line.ts';
import { executable } from '../support/program.ts';

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
});

/** Starts the command, writes to it, closes its standard input, and returns what it has written and its exit code. */
async function converse(
  ...messages: readonly string[]
): Promise<{ readonly code: number | null; readonly output: string; readonly errors: string }> {
  const child = spawn(process.execPath, [executable, 'mcp'], {
    env: { PATH: process.env['PATH'] },
  });
  const read = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  try {
    // The command can end before it has read everything.
    child.stdin.on('error', () => undefined);
    child.stdin.end(messages.map((message) => `${message}\n`).join(''));
    const [output, errors] = await read;
    return { code: child.exitCode, output, errors };
  } finally {
    child.kill('SIGKILL');
  }
}

test('a message that is not valid is reported, and the next one gets its response', async () => {
  const list = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
  const unknown = JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'tools/none' });
  const { code, output, errors } = await converse(initialize, 'not JSON', '{"hush": 1}', list, unknown);
  assert.equal(code, 0);
  assert.match(errors, /^(?:largesse mcp: a message was rejected \(\w+\)\n)+$/);
  assert.doesNotMatch(errors, /hush/);
  const responses = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly id: number; readonly error?: { readonly code: number } });
  assert.deepEqual(
    responses.map(({ id }) => id).toSorted((left, right) => left - right),
    [1, 2, 3],
  );
  assert.equal(responses.find(({ id }) => id === 3)?.error?.code, -32_601);
});

test('a message that is too long is rejected before it is parsed, and the next one gets its response', async () => {
  const list = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
  const long = JSON.stringify({ jsonrpc: '2.0', id: 3, method: 'tools/list', params: { x: 'y'.repeat(5_000_000) } });
  const longest = JSON.stringify({ jsonrpc: '2.0', id: 4, method: 'tools/list' }).padEnd(messageBytesMax);
  const { code, output, errors } = await converse(initialize, long, `${longest} `, longest, list);
  assert.equal(code, 0);
  assert.equal(errors, `largesse mcp: a message of more than ${messageBytesMax} bytes was rejected\n`.repeat(2));
  const responses = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly id: number | null; readonly error?: { readonly code: number } });
  assert.deepEqual(responses.map(({ id }) => id ?? 0).toSorted((left, right) => left - right), [0, 0, 1, 2, 4]);
  for (const { id, error } of responses) assert.equal(error?.code, id === null ? -32_600 : undefined);
}); // prettier-ignore

test('settings that are not valid end the command with exit code 2', async () => {
  const { code, errors } = await runCommand(['mcp'], {
    environment: { LARGESSE_URL: 'cards.example', LARGESSE_TOKEN: 'a b' },
  });
  assert.equal(code, 2);
  assert.match(errors, /LARGESSE_URL must be an http or https URL/);
  assert.match(errors, /LARGESSE_TOKEN must be an access token of a store$/m);
  assert.doesNotMatch(errors, /a b/);
});
