/** An example with a page that shows its command and its actual output. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

type Outcome = { readonly exitCode: unknown; readonly stdout: string; readonly stderr: string };

export type Example = {
  readonly run: (...options: readonly string[]) => Promise<Outcome>;
  /** The fenced block of a language on the page. */
  readonly block: (language: string) => string;
};

/** @param name of `examples/<name>.ts` and `.md`. */
export function exampleOf(name: string): Example {
  const folder = join(import.meta.dirname, '../../examples');
  const page = readFileSync(join(folder, `${name}.md`), 'utf8');
  return {
    run: (...options) =>
      new Promise((resolve) => {
        const args = [join(folder, `${name}.ts`), ...options];
        execFile(process.execPath, args, (error, stdout, stderr) => {
          resolve({ exitCode: error === null ? 0 : (error.code ?? error.signal), stdout, stderr });
        });
      }),
    block(language) {
      const [, text] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? [];
      assert.ok(text, `${name}.md has no block of ${language}`);
      return text;
    },
  };
}

/**
 * Replaces ids by #1, #2, … in order of appearance, which keeps references equal, and removes the digits of
 * times.
 */
export function normalised(output: string): string {
  const ids = new Map<string, string>();
  return output.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>').replaceAll(/\b\d{12,16}\b/g, (id) => {
    const name = ids.get(id) ?? `#${ids.size + 1}`;
    ids.set(id, name);
    return name;
  });
} // prettier-ignore
