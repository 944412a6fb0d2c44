/**
 * Which part of `src/` may import which. A part is a folder, or a file beside the folders: the wiring (`main.ts`
 * with `database.ts`, `background.ts`, `readiness.ts` and `start-checks.ts`), `cli.ts` (with `cli/`), `context.ts`, and as `ground` every other one, such as `config.ts` and `keys.ts`.
 *
 * `.oxlintrc.json` says the same to the linter: `lint-arrows.test.ts` compares the two, arrow by arrow, and
 * `tidy.test.ts` holds the tree itself to this table.
 */

const ground = ['domain', 'ground'];
const storage = [...ground, 'context', 'storage'];
const service = [...storage, 'service'];

/** Every part sees itself; domain, beside that, sees nothing. */
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
  web: [...service, 'web'],
  cli: [...service, 'delivery', 'main', 'cli'],
  main: [...service, 'delivery', 'http', 'api', 'docs', 'web', 'cli', 'main'],
};

/** The part that a file belongs to, by its path below `src/`: `storage/card.ts` is in storage, `keys.ts` in ground. */
export function partOf(path: string): string {
  const [top = '', ...rest] = path.split('/');
  if (rest.length > 0) return top;
  const name = top.replace(/\.ts$/, '');
  if (['database', 'background', 'readiness', 'start-checks'].includes(name)) return 'main';
  return ['main', 'cli', 'context'].includes(name) ? name : 'ground';
}
