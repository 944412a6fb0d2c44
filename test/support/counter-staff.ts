/** A shop whose staff have signed in, and the forms of its pages. */

import type { PublicNetwork } from '../../src/delivery/public-socket.ts';
import type { Limits } from '../../src/platform/limits.ts';
import assert from 'node:assert/strict';
import type { Role } from '../../src/core/staff/domain/staff.ts';
import type { Browser } from './browser.ts';
import { consoleDomain as domain, join } from './console.ts';
import {
  startService,
  type TestRequest,
  type TestResponse,
  type TestService,
  type TestStore,
} from './service.ts';

type IssuedCard = { readonly id: number; readonly code: string; readonly last_characters: string };

export type StaffedShop = AsyncDisposable & {
  readonly service: TestService;
  /** The signed-in browser of a person with this role. */
  as(role: Role): Promise<Browser>;
  /** A request to the API, such as `POST /gift_card`. */
  readonly ask: (line: string, request?: Omit<TestRequest, 'method'>) => Promise<TestResponse>;
  issue(parameters?: object): Promise<IssuedCard>;
};

export async function openStaffedShop({
  store = {},
  environment = {},
  emailNetwork,
  readMounts,
  isDurable = false,
  limits = {},
}: {
  readonly store?: Partial<TestStore>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly emailNetwork?: PublicNetwork;
  readonly readMounts?: () => string;
  /** Whether the service can run in production, which needs a durable database. */
  readonly isDurable?: boolean;
  readonly limits?: Partial<Limits>;
} = {}): Promise<StaffedShop> {
  const service = await startService({
    stores: [{ domain, name: 'Flowers', currency: 'EUR', undoWindowMinutes: 60, ...store }],
    environment,
    limits,
    ...(emailNetwork && { emailNetwork }),
    ...(readMounts && { readMounts }),
    ...(isDurable && { database: { durable: true } }),
  });
  const token = await service.token(domain);
  const ask: StaffedShop['ask'] = (line, request) => {
    const [method = '', path = ''] = line.split(' ');
    return service.request(path, { token, ...request, method });
  };
  const browsers = new Map<Role, Browser>();
  return {
    service,
    ask,
    async as(role) {
      const known = browsers.get(role);
      if (known) return known;
      const browser = await join(service, role);
      browsers.set(role, browser);
      return browser;
    },
    async issue(parameters = {}) {
      const response = await ask('POST /gift_card', { json: { initial_value: '50.00', ...parameters } });
      assert.equal(response.status, 201, response.text);
      return (response.json as { readonly gift_card: IssuedCard }).gift_card;
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

/** The text of a page, without tags and with plain spaces. */
export function textOfPage({ text }: Pick<TestResponse, 'text'>): string {
  return text
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? '')
    .replaceAll(/\s+/g, ' ');
}

/** The fields of a page's form as a browser submits them, without buttons. */
export function formOf({ text }: Pick<TestResponse, 'text'>, action: string): Record<string, string> {
  const start = text.indexOf(`action="${action}"`);
  assert.ok(start >= 0, `a form for ${action} in ${text}`);
  const form = text.slice(start, text.indexOf('</form>', start));
  const fields: Record<string, string> = {};
  const decoded = (value: string): string =>
    value.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? '');
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const attribute = (name: string): string => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '';
    const isChoice = ['radio', 'checkbox'].includes(attribute('type'));
    if (isChoice && !/ checked>/.test(tag)) continue;
    fields[attribute('name')] = decoded(attribute('value'));
  }
  for (const [, name = '', value = ''] of form.matchAll(/<textarea[^>]* name="([^"]*)"[^>]*>([^<]*)</g))
    fields[name] = decoded(value);
  return fields;
}

/** Opens a form, changes fields, and submits it. */
export async function sendForm(
  browser: Browser,
  path: string,
  changes: Readonly<Record<string, string>> = {},
): Promise<TestResponse & { readonly form: Readonly<Record<string, string>> }> {
  const page = await browser.get(path);
  assert.equal(page.status, 200, `${path}: ${page.text}`);
  const [action = ''] = path.split('?', 1);
  const form = { ...formOf(page, action), ...changes };
  return { ...(await browser.post(action, form)), form };
}
