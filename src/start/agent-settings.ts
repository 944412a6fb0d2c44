/** The settings of `largesse mcp`: the service that it uses. */

import { Secret } from '../platform/secret.ts';
import { explainPort, parseServiceUrl, type Setting } from './setting-values.ts';

const url: Setting<string> = {
  variable: 'LARGESSE_URL',
  description: 'The service that `largesse mcp` uses, with its base path.',
  accepts: 'an http or https URL without user, password, query and fragment',
  default: 'http://127.0.0.1:3000',
  shownDefault: '`http://127.0.0.1:3000`',
  parse: parseServiceUrl,
  explain: explainPort,
};

const token: Setting<Secret | null> = {
  variable: 'LARGESSE_TOKEN',
  description: 'The access token with which `largesse mcp` uses the service.',
  accepts: 'an access token of a store',
  default: null,
  shownDefault: 'none (only a service in development mode accepts that)',
  contains: 'secret',
  parse: (text) => (/^[\x21-\x7e]{1,255}$/.test(text) ? new Secret(text) : undefined),
};

export const agentSettings = { url, token } as const;
