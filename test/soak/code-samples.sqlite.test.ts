/** The samples of the API reference in curl, PHP and Python run, and make the documented requests. */

import assert from 'node:assert/strict';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { createGiftCard } from '../../src/core/cards/api/cards.ts';
import { openSampleServer, sampleIn, sampleToken } from '../support/code-samples.ts';
import { runProgram } from '../support/programs.ts';
import { startService } from '../support/service.ts';

/** Each runs all files of a language, whose names are its arguments. */
const runners = {
  curl: {
    extension: 'sh',
    command: ['sh', '-ec', 'for file in "$@"; do sh -e "$file"; done', 'sh'],
  },
  PHP: {
    extension: 'php',
    command: ['php', '-r', 'foreach (array_slice($argv, 1) as $file) include "./$file";'],
  },
  Python: {
    extension: 'py',
    command: ['python3', '-c', 'import runpy, sys\nfor file in sys.argv[1:]: runpy.run_path(file)'],
  },
} as const;

for (const [language, { extension, command }] of Object.entries(runners)) {
  const [program, ...args] = command;

  test(`the samples for ${language} make the documented requests`, async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'largesse-samples-'));
    await using server = await openSampleServer();
    const files = server.writeSamples(join(folder.path, 'all'), language, extension);
    const { code, errors } = await runProgram(program, [...args, ...files], {
      folder: join(folder.path, 'all'),
      environment: { TOKEN: sampleToken },
    });
    assert.equal(code, 0, errors);
    assert.doesNotMatch(errors, /warning|error|traceback/i);
    server.assertReceived();
  });

  test(`the first sample for ${language} issues a card`, async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), 'largesse-sample-'));
    await using service = await startService({ stores: [{ domain: 'flowers.example' }] });
    const file = `first.${extension}`;
    writeFileSync(join(folder.path, file), sampleIn(language, createGiftCard, service.url));
    const environment = { TOKEN: await service.token('flowers.example') };
    const outputs: string[] = [];
    for (let run = 0; run < 2; run += 1) {
      const { code, output, errors } = await runProgram(program, [...args, file], {
        folder: folder.path,
        environment,
      });
      assert.equal(code, 0, errors);
      outputs.push(output);
    }
    assert.match(outputs[0] ?? '', /gift_card/);
    // The key of the sample makes the second run a repetition.
    assert.equal(outputs[1], outputs[0]);
    assert.equal((await service.query('select id from gift_cards')).length, 1);
  });
}
