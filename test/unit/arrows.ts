/**
 * Imports that are allowed between the folders of `src/`. `lint-arrows.test.ts` compares this table with `.oxlintrc.json`,
 * and `tidy.test.ts` with the source files.
 */

const domain = ['platform', 'domain'];
const storage = [...domain, 'storage'];
const service = [...storage, 'service'];

/** The folders that each folder can import. Every folder can import itself. */
export const sees: Readonly<Record<string, readonly string[]>> = {
  platform: ['platform'],
  domain,
  storage,
  service,
  delivery: [...storage, 'delivery'],
  http: [...service, 'http'],
  api: [...service, 'http', 'api'],
  docs: [...service, 'http', 'api', 'docs'],
  console: [...service, 'http', 'console'],
  jobs: [...service, 'jobs'],
  mcp: [...service, 'http', 'api', 'docs', 'mcp'],
  cli: [...service, 'delivery', 'start', 'mcp', 'cli'],
  start: [...service, 'delivery', 'http', 'api', 'docs', 'console', 'jobs', 'mcp', 'cli', 'start'],
};

/** The folders of which a folder can import types only. */
export const seesTypesOf: Readonly<Record<string, readonly string[]>> = { console: ['storage'] };

/** The folder of a file by its path in `src/`: `storage/cards/card.ts` is in storage. `cli.ts` belongs to cli. */
export function partOf(path: string): string {
  return path.split('/')[0]?.replace(/\.ts$/, '') ?? '';
}
