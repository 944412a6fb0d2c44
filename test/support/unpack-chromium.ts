/** Unpacks the browser of a package into TMPDIR, and writes the path of its program. */

import chromium from '@sparticuz/chromium';

// Without WebGL, nothing else than the browser, its fonts and libraries is needed.
chromium.setGraphicsMode = false;
process.stdout.write(await chromium.executablePath());
