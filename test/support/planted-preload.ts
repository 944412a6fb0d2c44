/** Preloads a service (`node --import`) with the engine that responds before it commits. */

import { registerHooks } from 'node:module';

const real = new Set(
  ['sqlite', 'postgres'].map((engine) => import.meta.resolve(`../../src/database/${engine}/engine.ts`)),
);
const planted = import.meta.resolve('./planted-engine.ts');

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    // The planted engine itself imports the real ones.
    return real.has(resolved.url) && context.parentURL !== planted ? { ...resolved, url: planted } : resolved;
  },
});
