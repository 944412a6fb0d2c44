/** The devices on which cashiers sign in with a PIN. */

import { Fault } from '../../domain/fault.ts';
import { isPermitted, parseStaffName } from '../../domain/staff/staff.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { listPinPeople, unlockPinOf, type PinPerson } from '../../service/staff/pin-sign-in.ts';
import { signOut } from '../../service/staff/session.ts';
import { enrollTill, findPresentedTill, revokeTill, tillsMax, tillTokens } from '../../service/staff/till.ts';
import { parallel, resolved } from '../../storage/sql/sql.ts';
import { listStaff } from '../../storage/staff/staff.ts';
import { listTills, type ListedTill, type Till } from '../../storage/staff/till.ts';
import { cookieNameOf, setCookie } from '../kit/cookie.ts';
import { inputField } from '../kit/form.ts';
import { timeElement } from '../kit/format.ts';
import { shellPage } from '../kit/page.ts';
import { formText, type ConsoleRequest } from '../kit/request.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleRoute,
  type ConsoleServices,
  type StaffRequest,
} from '../kit/route.ts';
import { actingAs } from '../staff/people.ts';
import { fillPlain, textsOf } from '../kit/texts.ts';
import { tillPinRoutes } from './pin.ts';

const texts = textsOf('tillDevices');

const cookieSeconds = 365 * 24 * 60 * 60;

/** Enrolled devices, and as many that were revoked. */
const listedMax = 2 * tillsMax;

/** The till that the browser is enrolled as in the store of the person. */
async function ownTill(
  { storage, origin }: ConsoleServices,
  { cookies, signedIn }: StaffRequest,
): Promise<Till | null> {
  const token = tillTokens.parse(cookies.get(cookieNameOf('till', origin)) ?? '');
  if (token?.storeId !== signedIn.store.id) return null;
  return (await storage.read(() => findPresentedTill(token)))?.till ?? null;
}

type FormState = { readonly name: string; readonly error?: string };

async function listPage(
  services: ConsoleServices,
  request: StaffRequest,
  form: FormState,
): Promise<ConsoleResponse> {
  const { storage, frame } = services;
  const { language, signedIn } = request;
  const { store, member } = signedIn;
  const text = texts[language];
  const seesPins = isPermitted(member.role, 'manageStaff');
  const own = await ownTill(services, request);
  const [devices, members, people] = await storage.read(() =>
    parallel(
      listTills(store.id, listedMax),
      listStaff(store),
      seesPins ? listPinPeople(store) : resolved([]),
    ),
  );
  const names = new Map(members.map(({ id, name }) => [id, name]));
  const rows = devices.map((till) => deviceRow(services, request, { till, own, names }));
  const table =
    devices.length === 0
      ? markup`<p class="empty">${text.none}</p>`
      : markup`<table class="table lines" role="table"><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.columnName}</th><th scope="col" role="columnheader" class="wide">${text.columnAdded}</th><th scope="col" role="columnheader" class="wide">${text.columnUsed}</th><th scope="col" role="columnheader">${text.columnState}</th><th scope="col" role="columnheader" class="end"><span class="sr">${text.columnAction}</span></th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table>`;
  const replaced = own
    ? markup`<p class="notice">${fillPlain(text.replaces, { name: own.name })}</p>`
    : undefined;
  const body = markup`<div class="stack"><p class="soft">${text.intro}</p>
<div class="grid two"><div class="stack"><section class="panel flush" aria-labelledby="enrolled"><h2 id="enrolled">${text.enrolled}</h2>${table}</section>
<p class="hint">${text.revokeHint}</p>
${seesPins ? pinsPanel(services, request, people) : undefined}</div>
<section class="panel stack" aria-labelledby="add"><h2 id="add">${text.addTitle}</h2>
${replaced}<form class="stack" method="post" action="${frame.basePath}/tills">
${inputField({ name: 'name', label: text.name, value: form.name, hint: text.nameHint, error: form.error })}
<p class="small soft">${text.consequence}</p>
<button class="button first">${text.enroll}</button></form></section></div></div>`;
  const status = form.error === undefined ? 200 : 422;
  return { status, body: shellPage(services, request, { title: text.title, path: '/tills', body }) };
}

function deviceRow(
  { frame }: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  {
    till,
    own,
    names,
  }: {
    readonly till: ListedTill;
    readonly own: Till | null;
    readonly names: ReadonlyMap<number, string>;
  },
): Markup {
  const text = texts[language];
  const time = (instant: number): Markup => timeElement(instant, store, language);
  const by = fillPlain(text.by, { name: names.get(till.createdBy) ?? '' });
  const isRevoked = till.revokedAt !== null;
  const state = isRevoked
    ? markup`<span class="tag ended">${text.stateRevoked}</span>`
    : markup`<span class="tag good">${text.stateActive}</span>`;
  const action = isRevoked
    ? undefined
    : markup`<form method="post" action="${frame.basePath}/tills/${String(till.id)}/revoke"><button class="button bad" aria-label="${fillPlain(text.revokeName, { name: till.name })}">${text.revoke}</button></form>`;
  const mine = own?.id === till.id ? markup`<br><span class="small soft">${text.this}</span>` : undefined;
  const used = till.lastUsedAt === null ? text.never : time(till.lastUsedAt);
  return markup`<tr role="row"><th scope="row" role="rowheader">${till.name}${mine}</th><td role="cell" class="wide">${time(till.createdAt)}<br><span class="small soft">${by}</span></td><td role="cell" class="wide">${used}</td><td role="cell">${state}</td><td role="cell" class="aside end">${action}</td></tr>
`;
}

function pinsPanel(
  { frame }: ConsoleServices,
  { language }: StaffRequest,
  people: readonly PinPerson[],
): Markup {
  const text = texts[language];
  const rows = people.map(({ id, name, isLocked }) => {
    const state = isLocked
      ? markup`<span class="tag bad">${text.pinLocked}</span>`
      : markup`<span class="tag good">${text.pinSet}</span>`;
    const action = isLocked
      ? markup`<form method="post" action="${frame.basePath}/tills/pins/${String(id)}/unlock"><button class="button" aria-label="${fillPlain(text.unlockName, { name })}">${text.unlock}</button></form>`
      : undefined;
    return markup`<tr role="row"><th scope="row" role="rowheader">${name}</th><td role="cell">${state}</td><td role="cell" class="aside end">${action}</td></tr>
`;
  });
  const table =
    people.length === 0
      ? markup`<p class="empty">${text.pinsNone}</p>`
      : markup`<table class="table lines" role="table"><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.columnPerson}</th><th scope="col" role="columnheader">${text.columnState}</th><th scope="col" role="columnheader" class="end"><span class="sr">${text.columnAction}</span></th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table>`;
  return markup`<section class="panel flush" aria-labelledby="pins"><h2 id="pins">${text.pins}</h2>${table}</section>`;
}

async function enroll(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage, origin } = services;
  const { language, signedIn } = request;
  const { store, session } = signedIn;
  const text = texts[language];
  const typed = formText(request, 'name');
  const name = parseStaffName(typed);
  if (!name.ok)
    return await listPage(services, request, {
      name: typed.slice(0, 200),
      error: typed === '' ? text.nameMissing : text.nameInvalid,
    });
  const replaced = (await ownTill(services, request))?.id ?? null;
  try {
    const { token } = await storage.write(function* enrolled() {
      const made = yield* enrollTill(ctx, { store, name: name.value, replaced, by: personOf(request) });
      // A device at the counter must not keep the session of a manager.
      yield* signOut(ctx, session);
      return made;
    });
    return seeOther('/till/pin', [
      setCookie('till', { value: token.reveal(), maxAgeSeconds: cookieSeconds }, origin),
      setCookie('session', { value: '', maxAgeSeconds: 0 }, origin),
    ]);
  } catch (error) {
    if (!(error instanceof Fault) || !error.errors?.['name']) throw error;
    return await listPage(services, request, {
      name: typed,
      error: fillPlain(text.nameTooMany, { count: tillsMax }),
    });
  }
}

function personOf({ signedIn: { session } }: StaffRequest) {
  return { staffId: session.staffId, tillId: session.tillId };
}

function idOf({ params }: Pick<ConsoleRequest, 'params'>): number {
  const id = Number(params['id']);
  if (!Number.isSafeInteger(id)) throw new Fault('not-found');
  return id;
}

export const tillDeviceRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/tills',
    access: 'enrollTills',
    handle: (services, request) => listPage(services, request, { name: '' }),
  },
  { method: 'POST', path: '/tills', access: 'enrollTills', isSensitive: true, handle: enroll },
  {
    method: 'POST',
    path: '/tills/:id/revoke',
    access: 'enrollTills',
    isSensitive: true,
    async handle({ ctx, storage }, request) {
      const [id, { store }] = [idOf(request), request.signedIn];
      await storage.write(() => revokeTill(ctx, { store, id, by: personOf(request) }));
      return seeOther('/tills');
    },
  },
  {
    method: 'POST',
    path: '/tills/pins/:id/unlock',
    access: 'manageStaff',
    isSensitive: true,
    async handle({ ctx, storage }, request) {
      const [id, { store }] = [idOf(request), request.signedIn];
      await storage.write(() => unlockPinOf(ctx, { store, id, by: actingAs(request) }));
      return seeOther('/tills');
    },
  },
  ...tillPinRoutes,
];
