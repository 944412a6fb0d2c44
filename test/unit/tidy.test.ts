/** Checks of the source files, and of the commands in the documents. */

import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import test from 'node:test';
import { helpOf } from '../support/command-help.ts';
import { partOf, sees } from './arrows.ts';

type File = { readonly path: string; readonly text: string };

const read = (path: string): File => ({ path, text: readFileSync(path, 'utf8') });
const source = globSync('src/**/*.ts').map(read);

/** The code without comments, which start a line or follow a space. The `//` of a URL does not. */
const code = source.map(({ path, text }) => ({
  path,
  text: text.replaceAll(/(?<=^|\s)\/\*[\s\S]*?\*\//gm, '').replaceAll(/(?<=^|\s)\/\/.*$/gm, ''),
}));

test('every checked folder contains code', async (t) => {
  assert.ok(source.length > 20, `only ${source.length} files in src`);
  const there = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const folders = ['core', 'database', 'http', 'cli', ...there.map(({ name }) => name)];
  for (const folder of new Set(folders)) {
    await t.test(folder, () => assert.ok(source.some(({ path }) => path.startsWith(`src/${folder}/`))));
  }
});

test('imports follow the arrows between the folders', async (t) => {
  const below = (path: string): string => posix.relative('src', path);
  for (const part of new Set(source.map(({ path }) => partOf(below(path))))) {
    await t.test(part, () => {
      const visible = sees[part];
      assert.ok(visible, `test/unit/arrows.ts does not contain src/${part}`);
      const isAllowed = (path: string, specifier: string): boolean => {
        if (!specifier.startsWith('.'))
          return part !== 'domain' || /^(?:currency-codes|typebox|uqr|validator)(?:\/|$)/.test(specifier);
        const target = below(posix.join(posix.dirname(path), specifier));
        if (target.startsWith('..')) return part === 'mcp' && target === '../packages/client/src/index.ts';
        return visible.includes(partOf(target));
      };
      const against = code
        .filter(({ path }) => partOf(below(path)) === part)
        .flatMap(({ path, text }) => specifiers(text).map((specifier) => ({ path, specifier })))
        .filter(({ path, specifier }) => !isAllowed(path, specifier));
      assert.deepEqual(against, []);
    });
  }
});

test('no two files export the same name', () => {
  const pattern =
    /^export (?:declare |async |abstract )*(?:function\*?|const|let|class|type|interface|enum) +(?<name>\w+)/gm;
  const exported = code.flatMap(({ path, text }) =>
    // The overloads of a function are one export.
    [...new Set(Array.from(text.matchAll(pattern), ({ groups }) => groups?.['name'] ?? ''))].map((name) => ({
      name,
      path,
    })),
  );
  assert.ok(exported.length > 500, `only ${exported.length} exports in src`);
  const duplicates = [...Map.groupBy(exported, ({ name }) => name)]
    .filter(([, places]) => places.length > 1)
    .map(([name, places]) => `${name}: ${places.map(({ path }) => path).join(', ')}`);
  assert.deepEqual(duplicates, []);
});

test('imports have no circles, including those of types only', () => {
  const imported = new Map(
    code.map(({ path, text }) => [
      path,
      specifiers(text)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => posix.join(posix.dirname(path), specifier)),
    ]),
  );
  assert.ok([...imported.values()].flat().length > 500, 'the pattern no longer matches the imports');
  assert.deepEqual(circlesIn(imported), []);
});

test('a circle of imports is found, and named once', () => {
  const imported = new Map([
    ['a.ts', ['b.ts']],
    ['b.ts', ['c.ts', 'd.ts']],
    ['c.ts', ['a.ts']],
    ['d.ts', ['e.ts']],
    ['e.ts', []],
  ]);
  assert.deepEqual(circlesIn(imported), ['a.ts → b.ts → c.ts → a.ts']);
});

/** Returns the circles that a depth-first search finds. */
function circlesIn(imported: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const circles: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    else if (!finished.has(path)) {
      for (const next of imported.get(path) ?? []) visit(next, [...trail, path]);
      finished.add(path);
    }
  };
  for (const path of imported.keys()) visit(path, []);
  return circles;
}

/** Returns the modules that a file imports or exports from, in any syntax. */
function specifiers(text: string): readonly string[] {
  const pattern = /\b(?:from|import)\s*\(?\s*(?:'(?<single>[^'\n]+)'|"(?<double>[^"\n]+)")/g;
  return Array.from(text.matchAll(pattern), ({ groups }) => groups?.['single'] ?? groups?.['double'] ?? '');
}

const storagePlace = 'the layer storage';

test('each of these constructs is used in one place only', async (t) => {
  const sqlText = [
    String.raw`select\s[^<>]+\sfrom\s`,
    String.raw`(?:insert\s+into|delete\s+from|update\s+\w+\s+set|with\s+\w+\s+as)\s`,
    String.raw`(?:create|alter|drop)\s+(?:table|index|trigger|view)\s`,
    String.raw`(?:begin\s+immediate|pragma\s)`,
  ].join('|');
  const randomSources = 'randomBytes|randomFill|randomFillSync|randomInt|randomUUID|getRandomValues';
  const rules: readonly { readonly what: string; readonly pattern: RegExp; readonly place: string }[] = [
    { what: 'the sql tag', pattern: /\bsql\s*(?:<[^`]*>)?\s*`/, place: storagePlace },
    { what: 'SQL text', pattern: new RegExp(`['"\`]\\s*(?:${sqlText})`), place: storagePlace },
    {
      what: 'the environment',
      // The samples of the documentation read a token.
      pattern: /(?<!\btoken: )\bprocess\??\.env\b|\benv\b.*'node:process'/,
      place: 'src/start/config.ts',
    },
    {
      what: 'time',
      pattern: /\bDate\.now\b|\bnew Date\(\s*\)|\bTemporal\.Now\b/,
      place: 'src/platform/clock.ts',
    },
    {
      what: 'randomness',
      pattern: new RegExp(
        `\\bMath\\.random\\b|\\bcrypto\\.(?:${randomSources})\\b|\\b(?:${randomSources})\\b[^}]*\\}\\s*from 'node:crypto'`,
      ),
      place: 'src/platform/random.ts',
    },
  ];
  for (const { what, pattern, place } of rules) {
    await t.test(`only ${place} uses ${what}`, () => {
      const found = code.filter(({ text }) => pattern.test(text)).map(({ path }) => path);
      assert.notEqual(found.length, 0, 'found nowhere: the pattern no longer matches the code');
      assert.deepEqual(
        found.filter(
          (path) =>
            !(place === storagePlace
              ? partOf(path.slice('src/'.length)) === 'storage'
              : path.startsWith(place)),
        ),
        [],
      );
    });
  }
  await t.test('only clientAddress and clientKey identify a client, not the properties of Fastify', () => {
    const found = code.filter(({ text }) => /\brequest\.ips?\b|\btrustProxy\b/.test(text));
    assert.deepEqual(
      found.map(({ path }) => path),
      [],
    );
  });
  await t.test('SQL files are in src/database/', () => {
    const files = globSync('src/**/*.sql');
    assert.notEqual(files.length, 0);
    assert.deepEqual(
      files.filter((path) => !path.startsWith('src/database/')),
      [],
    );
  });
});

test('no file contains a note about unfinished work', () => {
  const others = globSync([
    '{test,bench,bin,examples}/**/*.{ts,js,sh}',
    'integrations/*/{src,test}/*.ts',
    'src/**/*.sql',
    '{docs,examples}/**/*.md',
    '*.md',
  ]);
  // Written this way to exclude this line from the search.
  const marks = /\b(?:TO[D]O|FIX[M]E)\b/;
  assert.deepEqual(
    [...source, ...others.map(read)].filter(({ text }) => marks.test(text)).map(({ path }) => path),
    [],
  );
});

test('.ci/run installs the package of every program that a test needs', () => {
  const [, list = ''] = /^for package in (.*); do$/m.exec(read('.ci/run').text) ?? [];
  const installed = new Set(list.split(' '));
  const packages = captured(read('test/run.ts').text, /\bpackage: '([^']+)'/g);
  const needed = [...packages].flatMap((names) => names.split(' '));
  assert.ok(needed.length > 10, String(needed.length));
  // dpkg is essential in Debian.
  assert.deepEqual(
    needed.filter((name) => !installed.has(name) && name !== 'dpkg'),
    [],
  );
});

/** The packages of this repository, which are not in the npm registry before the first release. */
const packageNames = [
  'package.json',
  'packages/client/package.json',
  'integrations/vendure/package.json',
].map((path) => (JSON.parse(read(path).text) as { readonly name: string }).name);

/** Commands and links that run or install a package of the registry. `npx largesse` alone runs the program of the folder. */
const fromRegistry: readonly RegExp[] = [
  String.raw`\bnpx\s+(?:-\S+\s+)+NAME\b`,
  String.raw`\bnpx\s+NAME(?:@|-(?:client|vendure)\b)`,
  String.raw`["']npx["'],?\s*(?:["']args["']:\s*)?\[[^\]]*NAME\b`,
  String.raw`\b(?:npm|pnpm|yarn|bun|deno)\s+(?:install|i|add|exec|x|create|init|dlx)\b[^\n;&|\x60]*[\s"':]NAME(?![\w./-]|-)`,
  String.raw`\b(?:npm|pnpm|yarn|bun|deno)\s+(?:install|i|add|exec|x|create|init|dlx)\b[^\n;&|\x60]*[\s"':]NAME@`,
  String.raw`npmjs\.com/package/NAME\b`,
].map((text) => new RegExp(text.replaceAll('NAME', `(?:${packageNames.join('|')})`)));

test('nothing that people read runs or installs a package of this repository from the npm registry', () => {
  for (const text of [
    'npx -y largesse mcp', 'npx largesse@latest serve', '"command": "npx",\n "args": ["-y", "largesse", "mcp"]',
    'npm install largesse', 'npm i -g largesse', '`npm install largesse@1.2.3`', 'npm install largesse-vendure largesse-client',
    'npm exec largesse serve', 'pnpm add largesse-client', 'https://www.npmjs.com/package/largesse',
  ])
    assert.ok(fromRegistry.some((pattern) => pattern.test(text)), text);
  for (const text of [
    'npx largesse serve', 'npm install ./largesse-0.1.0.tgz', 'npm uninstall largesse', 'npm pack ./packages/client',
    'npm install ./largesse-client-0.1.0.tgz ./largesse-vendure-0.1.0.tgz',
  ])
    assert.ok(!fromRegistry.some((pattern) => pattern.test(text)), text);
  const paths = globSync(
    ['*.md', '{docs,examples,integrations,packages,packaging,src,deploy}/**/*.{md,ts,js,sh,json,yaml,yml,php}', 'compose.yaml', 'Dockerfile'],
    { exclude: (path) => path.includes('node_modules') },
  );
  assert.ok(paths.length > 500, 'the documents and sources were not found');
  for (const path of paths) {
    const { text } = read(path);
    for (const pattern of fromRegistry) assert.doesNotMatch(text, pattern, path);
  }
}); // prettier-ignore

test('the packed files that the documents install have the names and versions of the packages', () => {
  const files = ['package.json', 'packages/client/package.json', 'integrations/vendure/package.json'].map((path) => {
    const { name, version } = JSON.parse(read(path).text) as { readonly name: string; readonly version: string };
    return `${name}-${version}.tgz`;
  });
  const packed = new Set(files);
  for (const path of ['docs/install.md', 'packages/client/README.md', 'integrations/vendure/README.md']) {
    const { text } = read(path);
    const installed = captured(text, /(?<=npm install [^\n]*)\.\/([\w.-]+\.tgz)/g);
    assert.ok(installed.size > 0, path);
    for (const file of installed) assert.ok(packed.has(file), `${path}: ${file}`);
    assert.match(text, /\bnpm pack\b/, path);
  }
}); // prettier-ignore

test('the commands that the documents name exist', async (t) => {
  for (const path of new Set([
    'README.md',
    ...globSync(['*.md', 'docs/**/*.md', 'examples/*.md', 'integrations/*/*.md']),
  ])) {
    await t.test(path, () => {
      const { text } = read(path);
      const scripts = captured(text, /\bnpm (?:run )?(test|start|(?<=run )[\w:-]+)/g);
      const commands = captured(text, /\bnpx largesse ([^\n`|;&#>]+)/g);
      if (path === 'README.md') assert.ok(scripts.size > 0, 'README contains no script');
      if (path === 'docs/commands.md') assert.ok(commands.size > 10, `only ${commands.size} commands`);
      for (const name of scripts) assertScript(name);
      for (const name of commands) assertCommand(name);
    });
  }
});

function captured(text: string, pattern: RegExp): ReadonlySet<string> {
  return new Set(Array.from(text.matchAll(pattern), ([, name = '']) => name.trim()));
}

function assertScript(name: string): void {
  const { scripts } = JSON.parse(read('package.json').text) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const script = scripts[name];
  assert.ok(script, `package.json has no script "${name}"`);
  const file = /^node (?<file>\S+)/.exec(script)?.groups?.['file'];
  assert.ok(file === undefined || existsSync(file), `npm run ${name} runs ${file}, which does not exist`);
}

/** Checks a command of a document, such as `token create acme --name till`, against its help. */
function assertCommand(line: string): void {
  const [words = ''] = /^[a-z][a-z-]*(?: [a-z][a-z-]*)*/.exec(line) ?? [];
  const help = helpOf(...words.split(' '));
  const [, command = '', expects = ''] = /^Usage: largesse ([a-z -]*)(.*)$/m.exec(help) ?? [];
  assert.ok(command !== '' && `${words} `.startsWith(command), `no command "${words}": ${help}`);
  // A group of commands rejects a word that is not one of its commands.
  assert.ok(!expects.endsWith('[command]') || words === command.trim(), `no command "${words}": ${help}`);
  for (const option of captured(line, /(?<=\s)(--[a-z-]+)/g)) {
    assert.match(help, new RegExp(`${option}\\b`), `largesse ${words} has no ${option}`);
  }
}

test('an unknown command or option is found', () => {
  assertCommand('token create acme --name till');
  for (const line of ['tokens create', 'token creat', 'token make --name x', 'token create --title x']) {
    assert.throws(() => assertCommand(line), line);
  }
});
