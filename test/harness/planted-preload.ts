/** Loaded before a service (`node --import`), this gives it the engine that answers before it commits. */

import { registerHooks } from 'node:module';

const real = new URL('../../src/storage/sqlite.ts', import.meta.url).href;
const planted = new URL('planted-engine.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    // The planted engine itself still needs the real one.
    return resolved.url === real && context.parentURL !== planted ? { ...resolved, url: planted } : resolved;
  },
});
