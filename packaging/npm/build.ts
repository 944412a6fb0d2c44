/** `npm run build`: makes the npm package in `build/npm`. `npm pack ./build/npm` packs it. */

import { join } from 'node:path';
import { makePackage } from './package.ts';

await makePackage(join(import.meta.dirname, '../../build/npm'));
