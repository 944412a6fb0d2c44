/** Sign-in with a PIN on an enrolled device, and locking the till. */

import { Fault } from '../../../core/domain/fault.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { pinTexts } from '../service/pin.ts';
import {
  listPinPeople,
  recordWrongPin,
  releasePin,
  reservePin,
  signInWithPin,
  type PinPerson,
} from '../service/pin-sign-in.ts';
import type { PresentedToken } from '../../../core/stores/service/secret-token.ts';
import { endLocked } from '../../../core/staff/service/session.ts';
import { findPresentedTill, tillTokens } from '../service/till.ts';
import type { Till } from '../../../core/staff/storage/till.ts';
import { compareCounted, hashClient } from '../../../pages/kit/attempt.ts';
import { cookieNameOf, sessionCookie, setCookie } from '../../../pages/kit/cookie.ts';
import { alert, hidden, inputField } from '../../../pages/kit/form.ts';
import { documentOf, gatePage, mark } from '../../../pages/kit/page.ts';
import type { ConsoleRequest } from '../../../pages/kit/request.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type ConsoleRoute,
  type PageResponse,
  type StaffRequest,
} from '../../../pages/kit/route.ts';
import { localPath } from '../../../pages/kit/local-path.ts';
import { plural, textsOf } from '../../../pages/kit/texts.ts';
import { endedNotice } from './resume.ts';

const texts = textsOf('tillPin');

/** The page of the till that opens after the PIN; `/till` for anything else. */
function nextOf(typed: string | undefined): string {
  const path = localPath(typed ?? '');
  return path.startsWith('/till/') && !path.includes('..') ? path : '/till';
}

/** The device of a request: the till that its browser is enrolled as. */
type Device = { readonly token: PresentedToken; readonly till: Till; readonly store: Store };

async function deviceOf(
  { storage, origin }: ConsoleServices,
  { cookies }: Pick<ConsoleRequest, 'cookies'>,
): Promise<Device | undefined> {
  const token = tillTokens.parse(cookies.get(cookieNameOf('till', origin)) ?? '');
  const found = token && (await storage.read(() => findPresentedTill(token)));
  return found && { token, ...found };
}

function notEnrolled({ origin }: Pick<ConsoleServices, 'origin'>): ConsoleResponse {
  return seeOther('/sign-in?next=/till', [setCookie('till', { value: '', maxAgeSeconds: 0 }, origin)]);
}

/** For a page outside of the till, requested in a session with a PIN. */
export function onlyTillPage(
  services: Pick<ConsoleServices, 'frame'>,
  { language, signedIn: { store } }: Pick<StaffRequest, 'language' | 'signedIn'>,
): Markup {
  const text = texts[language];
  const { basePath } = services.frame;
  const body = markup`<section class="panel stack"><p>${text.onlyTill}</p>
<p><a class="button first" href="${basePath}/till">${text.backToTill}</a></p>
<p><a class="button" href="${basePath}/sign-in">${text.password}</a></p></section>`;
  return gatePage(services, { language }, { title: text.onlyTillTitle, place: store.name, body });
}

type Problem = {
  readonly status: 401 | 422;
  readonly message: string;
  readonly at: 'person' | 'pin' | 'form';
};

async function pinPage(
  services: ConsoleServices,
  request: ConsoleRequest,
  device: Device,
  { next, chosen, problem }: { readonly next: string; readonly chosen?: number; readonly problem?: Problem },
): Promise<PageResponse> {
  const { storage, frame } = services;
  const { language } = request;
  const text = texts[language];
  const { store, till } = device;
  const people = await storage.read(() => listPinPeople(store, till));
  const [only] = people.length === 1 ? people : [];
  const form =
    people.length === 0
      ? markup`<section class="panel empty"><p>${text.none}</p><p><a class="button first" href="${frame.basePath}/sign-in?next=/account">${text.password}</a></p></section>`
      : markup`<form class="stack" method="post" action="${frame.basePath}/till/pin">
${problem?.at === 'form' ? alert(problem.message) : endedNotice(request, next)}${hidden('next', next)}
<fieldset${problem?.at === 'person' ? markup` aria-describedby="staff-error"` : undefined}><legend>${text.people}</legend>
<div class="choices names">${people.map((person) => personChoice(person, { language, isChosen: person.id === (chosen ?? only?.id) }))}</div>
${problem?.at === 'person' ? markup`<p class="error" id="staff-error">${problem.message}</p>` : undefined}</fieldset>
${inputField({
  name: 'pin',
  label: text.pin,
  type: 'password',
  autocomplete: 'off',
  inputMode: 'numeric',
  kind: 'pin',
  error: problem?.at === 'pin' ? problem.message : undefined,
})}
${keypad(language)}
<button class="button first big">${text.unlock}</button></form>
<p class="center"><a class="button quiet" href="${frame.basePath}/sign-in?next=${encodeURIComponent(next)}">${text.password}</a></p>`;
  const body = markup`<main class="till" id="content">
<div class="row apart"><span class="mark">${mark}${store.name}</span><span class="small soft">${till.name}</span></div>
<h1>${text.title}</h1>
${form}
</main>`;
  const title = `${text.title} · ${store.name}`;
  return {
    status: problem?.status ?? 200,
    body: documentOf(services, request, { title, body, scripts: ['pin.js'] }),
  };
}

function personChoice(
  { id, name, isLocked }: PinPerson,
  { language, isChosen }: { readonly language: ConsoleRequest['language']; readonly isChosen: boolean },
): Markup {
  const checked = isChosen ? markup` checked` : undefined;
  const locked = isLocked ? markup` <span class="tag bad">${texts[language].locked}</span>` : undefined;
  return markup`<label class="choice"><input type="radio" name="staff" value="${String(id)}" required${checked}>${name}${locked}</label>
`;
}

/** Keys that a script connects to the field of the PIN. Without it they are hidden. */
function keypad(language: ConsoleRequest['language']): Markup {
  const text = texts[language];
  const keys = ['1', '2', '3', '4', '5', '6', '7', '8', '9'].map(
    (digit) => markup`<button type="button" data-digit="${digit}">${digit}</button>`,
  );
  return markup`<div class="pad" data-pad="pin" role="group" aria-label="${text.keypad}" hidden>${keys}<span></span><button type="button" data-digit="0">0</button><button type="button" data-delete aria-label="${text.delete}">⌫</button></div>`;
}

async function signIn(services: ConsoleServices, request: ConsoleRequest): Promise<ConsoleResponse> {
  const { ctx, storage, passwords, origin } = services;
  const text = texts[request.language];
  const device = await deviceOf(services, request);
  if (!device) return notEnrolled(services);
  const { store, till, token } = device;
  const staffId = Number(request.form.get('staff') ?? '');
  const next = nextOf(request.form.get('next'));
  const show = (problem: Problem) =>
    pinPage(services, request, device, { next, ...(staffId > 0 && { chosen: staffId }), problem });
  const wrong: Problem = { status: 401, message: text.wrong, at: 'pin' };
  const locked: Problem = { status: 401, message: text.lockedNow, at: 'form' };
  if (!Number.isSafeInteger(staffId) || staffId <= 0)
    return await show({ status: 422, message: text.missingPerson, at: 'person' });
  const pin = request.form.get('pin') ?? '';
  // A text that cannot be a PIN is not an attempt.
  if (!/^\d{4,8}$/.test(pin)) return await show({ status: 422, message: text.missingPin, at: 'pin' });

  const key = { store, till, staffId };
  const attempt = await storage.write(() => reservePin(ctx, key));
  switch (attempt.kind) {
    case 'unknown':
      return await show({ status: 422, message: text.missingPerson, at: 'person' });
    case 'locked':
      return await show(locked);
    case 'throttled': {
      const minutes = Math.ceil(attempt.waitMs / 60_000);
      const message = plural(request.language, text.throttled, minutes);
      return throttled(await show({ status: 401, message, at: 'form' }), attempt.waitMs);
    }
    case 'reserved': {
      const { pin: hashed, count } = attempt;
      const comparison = { texts: pinTexts(ctx, { storeId: store.id, id: staffId }, pin), hashed };
      const isRight = await compareCounted(services, {
        giveBack: () => releasePin(key),
        compare: () => passwords.verify(hashClient(request, `till ${till.id}`), comparison),
      });
      if (!isRight) {
        const isLocked = await storage.write(() => recordWrongPin(ctx, { ...key, count }));
        return await show(isLocked ? locked : wrong);
      }
      const ended = request.signedIn?.session ?? null;
      const { userAgent } = request;
      const opened = await storage
        .write(() => signInWithPin(ctx, { token, staffId, hashed, ended, userAgent }))
        .catch((error: unknown) => {
          if (error instanceof Fault && error.code === 'unauthenticated') return null;
          throw error;
        });
      if (!opened) return seeOther('/till/pin');
      return seeOther(next, [sessionCookie({ ctx, origin }, opened)]);
    }
  }
}

export const tillPinRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/till/pin',
    access: 'anyone',
    async handle(services, request) {
      const device = await deviceOf(services, request);
      if (!device) return notEnrolled(services);
      return await pinPage(services, request, device, { next: nextOf(request.query.get('next')) });
    },
  },
  { method: 'POST', path: '/till/pin', access: 'anyone', handle: signIn },
  {
    method: 'POST',
    path: '/till/lock',
    access: 'staff',
    async handle(services, request) {
      const { ctx, storage, origin } = services;
      await storage.write(() => endLocked(ctx, request.signedIn.session));
      const ended = setCookie('session', { value: '', maxAgeSeconds: 0 }, origin);
      const device = await deviceOf(services, request);
      return seeOther(device ? '/till/pin' : '/sign-in', [ended]);
    },
  },
];
