/**
 * Imports that are allowed between the parts of `src/`: a part is a folder or a group of files next to the
 * folders. `lint-arrows.test.ts` compares this table with `.oxlintrc.json`, and `tidy.test.ts` with the source
 * files.
 */

const ground = ['domain', 'ground'];
const storage = [...ground, 'context', 'storage'];
const service = [...storage, 'service'];

/** The parts that each part can import. Every part can import itself. */
export const sees: Readonly<Record<string, readonly string[]>> = {
  domain: ['domain'],
  ground,
  context: storage,
  storage,
  service,
  delivery: [...storage, 'delivery'],
  http: [...service, 'http'],
  api: [...service, 'http', 'api'],
  docs: [...service, 'http', 'api', 'docs'],
  console: [...service, 'http', 'console'],
  jobs: [...service, 'jobs'],
  cli: [...service, 'delivery', 'main', 'cli'],
  main: [...service, 'delivery', 'http', 'api', 'docs', 'console', 'jobs', 'cli', 'main'],
};

/** The part of a file by its path in `src/`: `storage/card.ts` is in storage, `keys.ts` in ground. */
export function partOf(path: string): string {
  const [top = '', ...rest] = path.split('/');
  if (rest.length > 0) return top;
  const name = top.replace(/\.ts$/, '');
  if (['database', 'jobs', 'readiness', 'start-checks'].includes(name)) return 'main';
  return ['main', 'cli', 'context'].includes(name) ? name : 'ground';
}
