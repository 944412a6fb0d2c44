/** The form of the buy page in a browser, for its tests. */

import type { Frame, Page } from 'puppeteer-core';

/** The page, or the frame in which a page of the shop shows it. */
type Form = Pick<Page | Frame, 'click' | 'type' | '$eval'>;

export async function choose(form: Form, name: string, value: string): Promise<void> {
  await form.click(`label:has([name="${name}"][value="${value}"])`);
}

/** The text of what can be seen. */
export async function shown(form: Form, selector: string): Promise<string> {
  return await form.$eval(selector, (element) =>
    (element as HTMLElement).innerText.replaceAll(/\s+/g, ' ').trim(),
  );
}

/** Fills in the names and addresses of a card that Alan gives to Grace. */
export async function fillInGift(form: Form): Promise<void> {
  await form.type('#to', 'Grace Hopper');
  await form.type('#from', 'Alan');
  await form.type('#message', 'Happy birthday!');
  await form.type('#email', 'grace@example.com');
  await form.type('#buyer_email', 'alan@example.com');
}
