/**
 * The browser of the tests: `CHROME_PATH`, else an installed Chrome or Chromium, else the one that the package
 * `@sparticuz/chromium` contains (Linux on x64), with the libraries that plain Debian lacks.
 */

import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { runProgram } from './programs.ts';

export type ChromiumProgram = {
  readonly path: string;
  readonly environment: Readonly<Record<string, string>>;
};

/** The ones without windows need less than half of the processor time. */
const names = [
  'chrome-headless-shell',
  'chromium-headless-shell',
  'google-chrome-stable',
  'google-chrome',
  'chromium',
  'chromium-browser',
  'chrome',
];
const places = [
  '/opt/google/chrome/chrome',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function installed(): readonly ChromiumProgram[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
  const paths = [...names.flatMap((name) => folders.map((folder) => join(folder, name))), ...places];
  return paths.filter(isProgram).map((path) => ({ path, environment: {} }));
}

function fontsOf(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}/fonts</dir>
  <cachedir>${folder}/fonts-cache</cachedir>
</fontconfig>
`;
}

/** Undefined if the package is for another platform or cannot be unpacked. */
async function packaged(): Promise<ChromiumProgram | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const main = createRequire(import.meta.url).resolve('@sparticuz/chromium');
  const root = join(main.slice(0, main.lastIndexOf('@sparticuz')), '@sparticuz/chromium');
  const { version } = createRequire(import.meta.url)(join(root, 'package.json')) as {
    readonly version: string;
  };
  const folder = join(import.meta.dirname, `../../node_modules/.cache/largesse-chromium-${version}`);
  if (!existsSync(folder)) {
    mkdirSync(dirname(folder), { recursive: true });
    const unpacked = mkdtempSync(`${folder}-`);
    const { code } = await runProgram(
      process.execPath,
      [join(import.meta.dirname, 'unpack-chromium.ts')],
      // The package unpacks its libraries only for this platform, whose libraries suit Debian as well.
      { environment: { TMPDIR: unpacked, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' } },
    );
    // The browser ends without a font, and the package's own configuration names other folders.
    writeFileSync(join(unpacked, 'fonts.conf'), fontsOf(folder));
    // A process that unpacked it at the same time may have been faster.
    if (code === 0 && !existsSync(folder)) renameSync(unpacked, folder);
    else rmSync(unpacked, { recursive: true, force: true });
    if (code !== 0) return undefined;
  }
  return {
    path: join(folder, 'chromium'),
    environment: {
      LD_LIBRARY_PATH: join(folder, 'al2023/lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
  };
}

/** The browsers to try, best first. @throws Error if `CHROME_PATH` names no program. */
export async function* chromiumPrograms(): AsyncGenerator<ChromiumProgram> {
  const { CHROME_PATH: wanted } = process.env;
  if (wanted) {
    if (!isProgram(wanted)) throw new Error(`CHROME_PATH is not a program: ${wanted}`);
    yield { path: wanted, environment: {} };
    return;
  }
  yield* installed();
  const own = await packaged();
  if (own) yield own;
}
