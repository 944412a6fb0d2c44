/** Preloads a program (`node --import`), and writes the names of the packages that it has loaded when it ends. */

import { registerHooks } from 'node:module';

const loaded = new Set<string>();

registerHooks({
  load(url, context, next) {
    const [, name] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*\/node_modules\/)/.exec(url) ?? [];
    if (name !== undefined) loaded.add(name);
    return next(url, context);
  },
});

process.on('exit', () => process.stdout.write(`\nloaded packages: ${[...loaded].join(' ')}\n`));
