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
  pages: [...service, 'http', 'pages'],
  jobs: [...service, 'jobs'],
  mcp: [...service, 'http', 'api', 'docs', 'mcp'],
  cli: [...service, 'delivery', 'start', 'mcp', 'cli'],
  start: [...service, 'delivery', 'http', 'api', 'docs', 'pages', 'jobs', 'mcp', 'cli', 'start'],
};

/** The folders of which a folder can import types only. */
export const seesTypesOf: Readonly<Record<string, readonly string[]>> = { pages: ['storage'] };

/**
 * The layer of a file by its path in `src/`: the first folder that has the name of one. `core/cards/storage/card.ts` and
 * all of `database` are storage, `cli.ts` is cli, and the list of the features is start.
 */
export function partOf(path: string): string {
  if (path.startsWith('database/')) return 'storage';
  if (path === 'cli.ts') return 'cli';
  // The value of a feature names parts of all its layers.
  if (/^(?:features?|features\/[\w-]+\/feature)\.ts$/.test(path)) return 'start';
  const folders = path.split('/').slice(0, -1);
  // A feature can have the name of a layer.
  return folders.slice(folders[0] === 'features' ? 2 : 0).find((folder) => folder in sees) ?? '';
}

/** The part of a file: a feature, or a folder of the ground. */
export function areaOf(path: string): string {
  const [first = '', second = ''] = path.split('/');
  return first === 'features' ? second : first;
}
