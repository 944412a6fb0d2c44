/** The settings of `largesse upgrade`. Both are needed: there is no default, because nothing is requested without them. */

import { parseReleaseKey } from '../platform/releases/list.ts';
import { parseSecureUrl, type Setting } from './setting-values.ts';

const url: Setting<string | null> = {
  variable: 'RELEASES_URL',
  description:
    'The signed list of versions that `largesse upgrade` reads. The service itself never requests it.',
  accepts: 'an https URL',
  default: null,
  shownDefault: 'none (`largesse upgrade` requests nothing)',
  parse: parseSecureUrl,
};

const key: Setting<Uint8Array | null> = {
  variable: 'RELEASES_KEY',
  description: 'The public key with which the list of `RELEASES_URL` is verified.',
  accepts: 'a public key of Ed25519: 32 bytes in base64',
  default: null,
  shownDefault: 'none',
  parse(text) {
    const parsed = parseReleaseKey(text);
    return parsed.ok ? parsed.value : undefined;
  },
};

export const releaseSettings = { url, key } as const;
