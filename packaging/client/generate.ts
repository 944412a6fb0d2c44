/**
 * `npm run client:generate` writes the files of `packages/client/src/generated` from the OpenAPI document: the types of all
 * records, and the methods. A test compares them.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { openApiDocument } from '../../src/features/reference/docs/openapi.ts';
import { methodsText, resourcesText } from './methods.ts';
import { errorCodesText, typesText, type Components } from './types.ts';

const folder = join(import.meta.dirname, '../../packages/client/src/generated');

/** The files by their paths. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const document = openApiDocument('', '');
  const components = document.components as unknown as Components;
  const files = {
    'types.ts': `${typesText(components)}\n${errorCodesText(document['x-faults'])}`,
    'resources.ts': resourcesText(document.paths, components),
    'methods.ts': methodsText(document.paths, components),
  };
  const style = await resolveConfig(join(folder, 'types.ts'));
  return new Map(
    await Promise.all(
      Object.entries(files).map(
        async ([name, text]) =>
          [join(folder, name), await format(text, { ...style, parser: 'typescript' })] as const,
      ),
    ),
  );
}

if (import.meta.main) {
  for (const [path, text] of await generatedFiles()) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
