/** Passkeys in a real browser, with an authenticator that the browser simulates. */

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { openChromium, type Chromium, type Page, type Window } from '../support/chromium.ts';
import { invite, join, openStoreWithStaff, staffPassword } from '../support/console.ts';

let chromium: Chromium;
before(async () => {
  chromium = await openChromium();
});
after(async () => {
  await chromium[Symbol.asyncDispose]();
});

type SimulatedAuthenticator = {
  /** Whether the person presents the finger. */
  verify(isVerified: boolean): Promise<void>;
  credentials(): Promise<readonly { readonly isResidentCredential: boolean; readonly signCount: number }[]>;
};

/** Adds an authenticator with passkeys to a tab. @param isAutomatic whether it responds without a person. */
async function addAuthenticator(page: Page, isAutomatic = true): Promise<SimulatedAuthenticator> {
  const client = await page.createCDPSession();
  await client.send('WebAuthn.enable');
  const { authenticatorId } = await client.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: isAutomatic,
    },
  });
  return {
    async verify(isUserVerified) {
      await client.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
    },
    async credentials() {
      const { credentials } = await client.send('WebAuthn.getCredentials', { authenticatorId });
      return credentials;
    },
  };
}

/** Clicks a button, and waits for the next page. */
async function submit(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForNavigation(), page.click(selector)]);
}

function pathOf(page: Page): string {
  return new URL(page.url()).pathname;
}

/** Joins with a passkey. */
async function joinWithPasskey({ page, open }: Window, link: string): Promise<void> {
  assert.equal(await open(link), 200);
  await submit(page, 'form[data-passkey=create] button');
  assert.notEqual(pathOf(page), link);
}

test('a person joins with a passkey, signs out, and signs in with the button', async () => {
  await using service = await openStoreWithStaff();
  await using window = await chromium.window(service);
  const { page, open } = window;
  // Otherwise the simulated person chooses the passkey before the test clicks the button.
  await page.evaluateOnNewDocument(() => {
    PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(false);
  });
  const authenticator = await addAuthenticator(page);
  await joinWithPasskey(window, await invite(service, 'ada@flowers.example', 'owner'));
  const [created] = await authenticator.credentials();
  assert.equal(created?.isResidentCredential, true);
  assert.equal(await open('/account'), 200);
  await submit(page, 'form[action="/sign-out"] button');
  assert.equal(pathOf(page), '/sign-in');
  await submit(page, 'form[data-passkey=get] button');
  assert.equal(await open('/account'), 200);
  assert.equal(pathOf(page), '/account');
  assert.match(await page.content(), /Chrome on Linux/);
});

test('the browser offers the passkey at the field of the email', async () => {
  await using service = await openStoreWithStaff();
  await using window = await chromium.window(service);
  const { page, open } = window;
  await addAuthenticator(page);
  await joinWithPasskey(window, await invite(service, 'ada@flowers.example', 'owner'));
  assert.equal(await open('/account'), 200);
  await submit(page, 'form[action="/sign-out"] button');
  // The simulated person chooses the passkey that the browser offers.
  await page.waitForFunction(() => location.pathname !== '/sign-in');
  assert.equal(await open('/account'), 200);
  assert.equal(pathOf(page), '/account');
});

test('a person adds a passkey to an account with a password, and confirms with it', async () => {
  await using service = await openStoreWithStaff();
  const as = await join(service, 'owner');
  await using window = await chromium.window(service, { as });
  const { page, open } = window;
  await addAuthenticator(page);
  assert.equal(await open('/account/passkeys/new'), 200);
  await page.locator('#name').fill('Laptop');
  await submit(page, 'form[data-passkey=create] button');
  assert.equal(pathOf(page), '/account');
  assert.match(await page.content(), /<strong>Laptop<\/strong>/);
  service.clock.advance(10 * 60_000);
  assert.equal(await open('/staff/new'), 200);
  assert.equal(pathOf(page), '/confirm');
  await submit(page, 'form[data-passkey=get] button');
  assert.equal(pathOf(page), '/staff/new');
});

test('without the person, the page says that the browser used no passkey, and the password remains', async () => {
  await using service = await openStoreWithStaff();
  const as = await join(service, 'owner');
  await using window = await chromium.window(service, { as });
  const { page, open } = window;
  const authenticator = await addAuthenticator(page);
  assert.equal(await open('/account/passkeys/new'), 200);
  await authenticator.verify(false);
  await page.click('form[data-passkey=create] button');
  await page.waitForSelector('form[data-passkey] [role=alert]:not([hidden])');
  assert.deepEqual(await authenticator.credentials(), []);
  await authenticator.verify(true);
  await submit(page, 'form[data-passkey=create] button');
  assert.equal(pathOf(page), '/account', 'the form can be used again');
});

test('without scripts, the pages have no button that does nothing', async () => {
  await using service = await openStoreWithStaff();
  await join(service, 'owner');
  await using window = await chromium.window(service, { javaScript: false });
  const { page, open } = window;
  assert.equal(await open('/sign-in'), 200);
  const isShown = await page.$eval('form[data-passkey]', (form) => form.checkVisibility());
  assert.equal(isShown, false);
  await page.type('#email', 'owner@flowers.example');
  await page.type('#password', staffPassword);
  await submit(page, 'form[action="/sign-in"] button');
  assert.notEqual(pathOf(page), '/sign-in');
});
