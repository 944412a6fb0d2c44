/** The version of this program, from package.json. */

import { readProgramFile } from './program-files.ts';

const manifest = JSON.parse(readProgramFile('../package.json').toString()) as { readonly version: string };

export const version = manifest.version;
