/**
 * The settings of `largesse upgrade` and of the daily look for new versions. URL and key are both needed: there is no
 * default, because nothing is requested without them.
 */

import { parseReleaseKey } from '../platform/list.ts';
import { explainPort, parseSecureUrl, parseSwitch, type Setting } from '../../../start/setting-values.ts';

const url: Setting<string | null> = {
  variable: 'RELEASES_URL',
  description:
    'The signed list of versions that `largesse upgrade` reads, and the service once a day if that is allowed.',
  accepts: 'an https URL',
  default: null,
  shownDefault: 'none (nothing is requested)',
  parse: parseSecureUrl,
  explain: explainPort,
  usedWith: { variable: 'RELEASES_KEY', values: null },
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
  usedWith: { variable: 'RELEASES_URL', values: null },
};

const isChecked: Setting<boolean | null> = {
  variable: 'RELEASES_CHECK',
  description:
    'Whether the service reads the list of `RELEASES_URL` once a day, and shows owners a later version. Nothing is upgraded by itself.',
  accepts: '`on` or `off`',
  default: null,
  shownDefault: 'none (an owner decides on the pages; until then, nothing is requested)',
  parse: parseSwitch,
  usedWith: { variable: 'RELEASES_URL', values: null },
};

export const releaseSettings = { url, key, isChecked } as const;
