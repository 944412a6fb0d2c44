/** Loaded before a service (`node --import`), this gives it the engine that answers before it commits. */

import { registerHooks } from 'node:module';

const real = import.meta.resolve('../../src/storage/sqlite.ts');
const planted = import.meta.resolve('./planted-engine.ts');

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    // The planted engine itself still needs the real one.
    return resolved.url === real && context.parentURL !== planted ? { ...resolved, url: planted } : resolved;
  },
});
