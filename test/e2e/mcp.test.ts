/** `largesse mcp` as a host starts it: over standard input and output, with the client of the official SDK. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { callTool, type Arguments } from '../support/agent.ts';
import { startService } from '../support/service.ts';
import { executable } from '../support/program.ts';

const domain = 'flowers.example';
const service = await startService({ stores: [{ domain }] });
after(() => service[Symbol.asyncDispose]());
const token = await service.token(domain);
const environment = { LARGESSE_URL: service.url, LARGESSE_TOKEN: token };

function resultOf({ content }: { readonly content: Arguments }): Arguments {
  return content['result'] as Arguments;
}

test('a host starts the command, reads a card, and carries out a confirmed credit', async () => {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [executable, 'mcp', '--allow-writes'],
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stderr: 'pipe',
  });
  let errors = '';
  transport.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  try {
    const { json } = await service.request('/gift_card', {
      method: 'POST',
      token,
      json: { initial_value: '5.00' },
    });
    const { id, code } = (json as { readonly gift_card: { readonly id: number; readonly code: string } })
      .gift_card;
    const card = await callTool(client, 'get_gift_card', { gift_card_id: id });
    assert.equal((resultOf(card)['gift_card'] as Arguments)['balance'], '5.00');
    const sent = { gift_card_id: id, amount: '2.00' };
    const { content: asked } = await callTool(client, 'credit_gift_card', sent);
    assert.equal(asked['carried_out'], false);
    const other = { ...sent, amount: '200.00', confirmation: asked['confirmation'] };
    assert.equal((await callTool(client, 'credit_gift_card', other)).content['carried_out'], false);
    const confirmed = { ...sent, confirmation: asked['confirmation'] };
    const done = await callTool(client, 'credit_gift_card', confirmed);
    assert.equal((resultOf(done)['transaction'] as Arguments)['balance_after'], '7.00');
    assert.ok(!JSON.stringify([card, asked, done]).includes(code));
    assert.match(client.getInstructions() ?? '', /Codes of gift cards are always withheld/);
  } finally {
    await client.close();
  }
  assert.equal(errors, '');
});
