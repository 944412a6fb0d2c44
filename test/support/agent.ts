/** An agent of a service: the tools of `largesse mcp` in this process, called by the client of the official SDK. */

import assert from 'node:assert/strict';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { systemClock } from '../../src/platform/clock.ts';
import { Secret } from '../../src/platform/secret.ts';
import { agentServer, callsTo } from '../../src/features/mcp/mcp/serve.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** The result of a tool. */
export type ToolResult = {
  readonly isError: boolean;
  readonly content: Readonly<Record<string, unknown>>;
};

export type Agent = AsyncDisposable & {
  readonly client: Client;
  call(tool: string, sent?: Arguments): Promise<ToolResult>;
  /** Lets this many ms pass for confirmations. */
  advance(ms: number): void;
  /** Everything that the agent has received. */
  received(): string;
};

/** Calls a tool. Its text has the same content as its structure. */
export async function callTool(client: Client, name: string, sent: Arguments = {}): Promise<ToolResult> {
  const { isError = false, content, structuredContent } = await client.callTool({ name, arguments: sent });
  const [first, ...others] = content as readonly { readonly type: string; readonly text: string }[];
  assert.deepEqual(others, []);
  assert.equal(first?.type, 'text');
  if (structuredContent === undefined) return { isError, content: { text: first.text } };
  assert.deepEqual(JSON.parse(first.text), structuredContent);
  return { isError, content: structuredContent as Arguments };
}

export async function startAgent({
  url,
  token,
  allowWrites = true,
}: {
  readonly url: string;
  readonly token: string;
  readonly allowWrites?: boolean;
}): Promise<Agent> {
  let ahead = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const server = agentServer(callsTo({ url, token: new Secret(token) }, { clock }), { allowWrites });
  const [ofClient, ofServer] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'test', version: '1' });
  await server.connect(ofServer);
  await client.connect(ofClient);
  const texts: string[] = [];
  return {
    client,
    async call(tool, sent) {
      const result = await callTool(client, tool, sent);
      texts.push(JSON.stringify(result));
      return result;
    },
    advance(ms) {
      ahead += ms;
    },
    received: () => texts.join('\n'),
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}
