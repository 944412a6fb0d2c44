/** Checks of a page in the browser. Each returns sentences about what is wrong. */

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Page } from 'puppeteer-core';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

declare global {
  var axe: { readonly run: (options: RunOptions) => Promise<AxeResults> } | undefined;
}

const everything: RunOptions = {
  resultTypes: ['violations'],
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  rules: { 'target-size': { enabled: true } },
};
const contrast: RunOptions = {
  resultTypes: ['violations'],
  runOnly: { type: 'rule', values: ['color-contrast'] },
};
/** Contrast needs the colors of every text, and is the slowest rule. */
const withoutContrast: RunOptions = {
  ...everything,
  rules: { ...everything.rules, 'color-contrast': { enabled: false } },
};
const chosen = { everything, contrast, withoutContrast } as const;

/** Runs axe-core in the page, as it is shown now. The policy of the page does not apply to the tools of the browser. */
export async function accessibilityFaults(
  page: Page,
  rules: keyof typeof chosen = 'everything',
): Promise<readonly string[]> {
  if (!(await page.evaluate(() => globalThis.axe !== undefined))) await page.evaluate(axeSource);
  const results = await page.evaluate((options) => globalThis.axe?.run(options), chosen[rules]);
  return (results ?? { violations: [] }).violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ target, any, all }) => `${target.join(' ')} (${[...any, ...all].map(({ message }) => message).join('; ')})`).join(', ')}`,
  );
}

/** Returns the faults of the document itself. */
export async function documentFaults(page: Page, language: string): Promise<readonly string[]> {
  return await page.evaluate((expected) => {
    const faults: string[] = [];
    const { lang } = document.documentElement;
    if (lang !== expected && !lang.startsWith(`${expected}-`))
      faults.push(`lang is ${lang}, not ${expected}`);
    if (document.title.trim() === '') faults.push('the title is empty');
    const headings = document.querySelectorAll('h1').length;
    if (headings !== 1) faults.push(`${headings} h1`);
    const ids = Array.from(document.querySelectorAll('[id]'), ({ id }) => id);
    for (const id of new Set(ids)) {
      if (ids.filter((each) => each === id).length > 1) faults.push(`the id ${id} occurs twice`);
    }
    for (const element of document.querySelectorAll('*')) {
      for (const { name } of element.attributes) {
        if (name === 'style' || name.startsWith('on'))
          faults.push(`${element.tagName} has the attribute ${name}`);
      }
    }
    for (const script of document.scripts) if (script.src === '') faults.push('an inline script');
    if (document.querySelector('style')) faults.push('an inline style sheet');
    return faults;
  }, language);
}

/** Returns the elements that are visible only after scrolling sideways. */
export async function overflowFaults(page: Page): Promise<readonly string[]> {
  return await page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const wide = Array.from(document.querySelectorAll('body *'))
      .filter((element) => element.getBoundingClientRect().right > clientWidth + 1)
      .map(({ tagName, classList }) => [tagName.toLowerCase(), ...classList].join('.'));
    return [
      `at ${innerWidth} px the page is ${scrollWidth} px wide: ${[...new Set(wide)].slice(0, 5).join(', ')}`,
    ];
  });
}

/** The paths of this site that the page links to. */
export async function linkedPaths(page: Page): Promise<readonly string[]> {
  return await page.evaluate(() => {
    const links = Array.from(
      document.querySelectorAll('a[href]:not([href^="#"])'),
      (link) => new URL((link as HTMLAnchorElement).href),
    );
    return [
      ...new Set(
        links
          .filter(({ origin }) => origin === location.origin)
          .map(({ pathname, search }) => pathname + search),
      ),
    ];
  });
}

const stopsMax = 150;

/** Walks through the page with the Tab key: whether focus is visible, follows the document, and reaches every control. */
export async function keyboardFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(() => {
    scrollTo(0, 0);
    const focused = document.activeElement;
    if (focused instanceof HTMLElement) focused.blur();
    const start = document.createElement('span');
    start.tabIndex = -1;
    document.body.prepend(start);
    start.focus();
    start.remove();
  });
  const faults: string[] = [];
  const seen = new Set<number>();
  let last: number | undefined;
  for (let stop = 0; stop < stopsMax; stop += 1) {
    await page.keyboard.press('Tab');
    const reached = await page.evaluate(() => {
      const element = document.activeElement;
      const isControl = element instanceof HTMLElement || element instanceof SVGElement;
      if (!isControl || element === document.body) return null;
      const all = [...document.querySelectorAll('*')];
      const shown = element.closest('label') ?? element;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const { outlineStyle: outer } = getComputedStyle(shown);
      const box = shown.getBoundingClientRect();
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      // A point of the box that is shown: a long one is larger than the window.
      const on = document.elementFromPoint(
        Math.min(Math.max(x, 0), innerWidth - 1),
        Math.min(Math.max(y, 0), innerHeight - 1),
      );
      const name = `${element.tagName.toLowerCase()} “${(element.textContent || element.getAttribute('name') || '').trim().slice(0, 30)}”`;
      return {
        index: all.indexOf(element),
        name,
        hasOutline: (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 2) || outer !== 'none',
        isCovered: on !== null && !shown.contains(on) && !on.contains(shown),
        isInView: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
      };
    });
    // A field with autofocus can take the focus from the start, and Tab then leaves the page once.
    if (!reached && stop === 0) continue;
    // The parts of a date are stops of one field.
    if (reached && reached.index === last) continue;
    if (!reached || seen.has(reached.index)) break;
    seen.add((last = reached.index));
    if (!reached.hasOutline) faults.push(`focus on ${reached.name} is not visible`);
    if (!reached.isInView) faults.push(`focus on ${reached.name} is outside of the window`);
    else if (reached.isCovered) faults.push(`focus on ${reached.name} is covered`);
  }
  const controls = await page.evaluate(() => {
    // The link that skips the navigation is shown while it has the focus, over other controls.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
    const all = [...document.querySelectorAll('*')];
    return (
      Array.from(
        document.querySelectorAll<HTMLElement>(
          'a[href], button, input, select, textarea, summary, [tabindex="0"]',
        ),
      )
        .filter(
          (element) =>
            element.checkVisibility() && !element.matches(':disabled, [type="hidden"], [tabindex="-1"]'),
        )
        // Tab reaches one radio button of a group.
        .filter((element) => !element.matches('[type="radio"]'))
        .map((element) => ({
          index: all.indexOf(element),
          name: `${element.tagName.toLowerCase()} “${(element.textContent || element.getAttribute('name') || '').trim().slice(0, 30)}”`,
        }))
    );
  });
  if (seen.size < stopsMax)
    for (const { index, name } of controls) if (!seen.has(index)) faults.push(`Tab does not reach ${name}`);
  return faults;
}
