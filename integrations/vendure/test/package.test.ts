/** The package, as it is published: CommonJS programs such as Vendure's can load it. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { runProgram } from '../../../test/support/programs.ts';

const root = join(import.meta.dirname, '../../..');

test('a CommonJS program loads the built package, and a wrong URL is rejected at once', async () => {
  const build = [join(root, 'packaging/client/build.ts'), 'integrations/vendure'];
  const built = await runProgram(process.execPath, build);
  assert.equal(built.code, 0, built.output + built.errors);
  const program = `
    const { createGiftCardHandler } = require('./integrations/vendure/dist/index.js');
    const handler = createGiftCardHandler({ url: 'https://cards.example.com', token: 'lgs_1', code: 'eur' });
    try { createGiftCardHandler({ url: 'cards.example.com', token: 'lgs_1' }); }
    catch (error) { console.log(handler.code, error.name); }`;
  const { output, errors } = await runProgram(process.execPath, ['--input-type=commonjs', '-e', program], {
    folder: root,
  });
  assert.equal(output.trim(), 'eur TypeError', errors);
});
