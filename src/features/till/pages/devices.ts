/** The devices on which cashiers sign in with a PIN. */

import { Fault } from '../../../core/domain/fault.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { isPermitted, parseStaffName } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { listPinPeople, type PinPerson } from '../service/pin-sign-in.ts';
import { moveTillAs, enrollTill, revokeTill, setTillPaperAs, unlockPinOf } from '../service/staff-till.ts';
import { listAllLocations } from '../../../core/stores/service/location.ts';
import { listDevices, tillsMax } from '../service/till.ts';
import { paperWidthsMm } from '../../../core/staff/domain/till-paper.ts';
import type { ListedTill, Till } from '../../../core/staff/storage/till.ts';
import { qrPicture } from '../../../pages/kit/code-view.ts';
import { setCookie } from '../../../pages/kit/cookie.ts';
import { inputField, optionsOf } from '../../../pages/kit/form.ts';
import { readStoredId } from '../../../pages/kit/ids.ts';
import { small, table, tag, type Row } from '../../../pages/kit/parts.ts';
import { seeOther, type ConsoleResponse, type ConsoleRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { ownTill } from './own-till.ts';
import { tillPinRoutes } from './pin.ts';
import { Page, get, post } from '../../../pages/kit/page-context.ts';

const cookieSeconds = 365 * 24 * 60 * 60;

type FormState = { readonly name: string; readonly error?: string };

async function listPage(page: Page, form: FormState): Promise<ConsoleResponse> {
  const { store, member } = page;
  const text = page.text.tillDevices;
  const seesPins = isPermitted(member, 'manageStaff');
  const own = await ownTill(page);
  const { tills: devices, members } = await page.read(() => listDevices(store));
  const locations = await page.read(() => listAllLocations(store.id));
  const people = seesPins ? await page.read(() => listPinPeople(store)) : [];
  const names = new Map(members.map(({ id, name }) => [id, name]));
  const shown =
    devices.length === 0
      ? markup`<p class="empty">${text.none}</p>`
      : table({
          columns: [
            text.columnName,
            { class: 'wide', name: text.columnAdded },
            { class: 'wide', name: text.columnUsed },
            ...(locations.length === 0 ? [] : [page.text.locations.till]),
            text.paper,
            { class: 'end', name: text.columnAction, isHidden: true },
          ],
          rows: devices.map((till) => deviceRow(page, till, { own, names, locations })),
        });
  const replaced = own
    ? markup`<p class="notice">${fillPlain(text.replaces, { name: own.name })}</p>`
    : undefined;
  const body = markup`<div class="stack"><p class="soft">${text.intro}</p>
<section class="panel flush" aria-labelledby="enrolled"><h2 id="enrolled">${text.enrolled}</h2>${shown}</section>
<p class="hint">${text.revokeHint}</p>
<div class="grid two">${seesPins ? pinsPanel(page, people) : undefined}
<section class="panel stack" aria-labelledby="add"><h2 id="add">${text.addTitle}</h2>
${replaced}<form class="stack" method="post" action="${page.url('/tills')}">
${inputField({ name: 'name', label: text.name, value: form.name, hint: text.nameHint, error: form.error })}
<p class="small soft">${text.consequence}</p>
<button class="button first">${text.enroll}</button></form>
${phonePart(page)}</section></div></div>`;
  return page.show('/tills', { title: text.title, body, status: form.error === undefined ? 200 : 422 });
}

/** The steps in which a phone or tablet becomes a till. Without HTTPS it has no camera, and no app can be installed. */
function phonePart({ services: { pagesUrl }, text: { tillDevices: text } }: Page): Markup | undefined {
  if (pagesUrl?.startsWith('https://') !== true) return undefined;
  const link = `${pagesUrl}/tills`;
  return markup`<h3>${text.phone}</h3><div class="qr shown">${qrPicture(link, link)}</div>
<ol class="todo"><li><span>${text.phoneScan}</span></li><li><span>${text.phoneEnroll}</span></li><li><span>${text.phoneInstall}</span></li></ol>`;
}

/** The location of a till, which can be set while it is enrolled. A closed one is offered only if the till is there. */
function locationCell(page: Page, till: ListedTill, locations: readonly Location[]): Markup {
  const text = page.text.locations;
  const { id, name, locationId, revokedAt } = till;
  const present = locations.find((one) => one.id === locationId);
  if (revokedAt !== null) return markup`${present?.name}`;
  const offered = locations.filter((one) => one.closedAt === null || one === present);
  const options = [
    { value: '', text: text.noLocation },
    ...offered.map((one) => ({ value: String(one.id), text: one.name })),
  ];
  const choice = optionsOf(options, String(locationId ?? ''));
  return choiceCell(page, {
    path: `/tills/${String(id)}/location`,
    name: 'location',
    label: fillPlain(text.setName, { name }),
    choice,
  });
}

/** The width of the paper of a till's printer, which can be set while the till is enrolled. */
function paperCell(page: Page, { id, name, paperMm, revokedAt }: ListedTill): Markup {
  const textOf = (mm: number): string =>
    new Intl.NumberFormat(page.language, { style: 'unit', unit: 'millimeter' }).format(mm);
  if (revokedAt !== null) return markup`${textOf(paperMm)}`;
  const options = paperWidthsMm.map((mm) => ({ value: String(mm), text: textOf(mm) }));
  return choiceCell(page, {
    path: `/tills/${String(id)}/paper`,
    name: 'paper',
    label: fillPlain(page.text.tillDevices.setPaper, { name }),
    choice: optionsOf(options, String(paperMm)),
  });
}

function choiceCell(
  page: Page,
  {
    path,
    name,
    label,
    choice,
  }: { readonly path: string; readonly name: string; readonly label: string; readonly choice: MarkupPart },
): Markup {
  return markup`<form class="row" method="post" action="${page.url(path)}"><select class="field" name="${name}" aria-label="${label}">${choice}</select><button class="button" aria-label="${label}">${page.text.locations.set}</button></form>`;
}

function deviceRow(
  page: Page,
  till: ListedTill,
  {
    own,
    names,
    locations,
  }: {
    readonly own: Till | null;
    readonly names: ReadonlyMap<number, string>;
    readonly locations: readonly Location[];
  },
): Row {
  const text = page.text.tillDevices;
  const by = fillPlain(text.by, { name: names.get(till.createdBy) ?? '' });
  const action =
    till.revokedAt !== null
      ? tag('ended', text.stateRevoked)
      : markup`<form method="post" action="${page.url(`/tills/${String(till.id)}/revoke`)}"><button class="button bad" aria-label="${fillPlain(text.revokeName, { name: till.name })}">${text.revoke}</button></form>`;
  const mine = own?.id === till.id ? markup`<br>${small(text.this)}` : undefined;
  return [
    { heading: markup`${till.name}${mine}` },
    { class: 'wide', html: markup`${page.time(till.createdAt)}<br>${small(by)}` },
    { class: 'wide', html: till.lastUsedAt === null ? text.never : page.time(till.lastUsedAt) },
    ...(locations.length === 0 ? [] : [locationCell(page, till, locations)]),
    paperCell(page, till),
    { class: 'aside end', html: action },
  ];
}

function pinsPanel(page: Page, people: readonly PinPerson[]): Markup {
  const text = page.text.tillDevices;
  const rows = people.map(({ id, name, isLocked }): Row => {
    const action = isLocked
      ? markup`<form method="post" action="${page.url(`/tills/pins/${String(id)}/unlock`)}"><button class="button" aria-label="${fillPlain(text.unlockName, { name })}">${text.unlock}</button></form>`
      : undefined;
    const state = isLocked ? tag('bad', text.pinLocked) : tag('good', text.pinSet);
    return [{ heading: name }, state, { class: 'aside end', html: action }];
  });
  const columns = [
    text.columnPerson,
    text.columnState,
    { class: 'end', name: text.columnAction, isHidden: true },
  ];
  const shown =
    people.length === 0 ? markup`<p class="empty">${text.pinsNone}</p>` : table({ columns, rows });
  return markup`<section class="panel flush" aria-labelledby="pins"><h2 id="pins">${text.pins}</h2>${shown}</section>`;
}

async function enroll(page: Page): Promise<ConsoleResponse> {
  const { services, request } = page;
  const text = page.text.tillDevices;
  const typed = page.typed('name');
  const name = parseStaffName(typed);
  if (!name.ok)
    return await listPage(page, {
      name: typed.slice(0, 200),
      error: typed === '' ? text.nameMissing : text.nameInvalid,
    });
  const replaced = (await ownTill(new Page(services, request)))?.id ?? null;
  try {
    const { session } = request.signedIn;
    const { token } = await page.write(() =>
      enrollTill(page.ctx, page.by, { name: name.value, replaced, session }),
    );
    return seeOther('/till/pin', [
      setCookie('till', { value: token.reveal(), maxAgeSeconds: cookieSeconds }, services.origin),
      setCookie('session', { value: '', maxAgeSeconds: 0 }, services.origin),
    ]);
  } catch (error) {
    if (!(error instanceof Fault) || !error.errors?.['name']) throw error;
    return await listPage(page, { name: typed, error: fillPlain(text.nameTooMany, { count: tillsMax }) });
  }
}

export const tillDeviceRoutes: readonly ConsoleRoute[] = [
  get('/tills', 'enrollTills', (page) => listPage(page, { name: '' })),
  post('/tills', { sensitive: 'enrollTills' }, enroll),
  post('/tills/:id/revoke', { sensitive: 'enrollTills' }, async (page) => {
    const id = page.storedId();
    await page.write(() => revokeTill(page.ctx, page.by, id));
    return seeOther('/tills');
  }),
  post('/tills/:id/location', { sensitive: 'enrollTills' }, async (page) => {
    const id = page.storedId();
    const typed = page.typed('location');
    const locationId = typed === '' ? null : readStoredId(typed);
    if (locationId === undefined) throw new Fault('not-found');
    await page.write(() => moveTillAs(page.ctx, page.by, id, locationId));
    return seeOther('/tills');
  }),
  post('/tills/:id/paper', { sensitive: 'enrollTills' }, async (page) => {
    const id = page.storedId();
    const paperMm = paperWidthsMm.find((mm) => String(mm) === page.typed('paper'));
    if (paperMm === undefined) throw new Fault('not-found');
    await page.write(() => setTillPaperAs(page.ctx, page.by, id, paperMm));
    return seeOther('/tills');
  }),
  post('/tills/pins/:id/unlock', { sensitive: 'manageStaff' }, async (page) => {
    const id = page.storedId();
    await page.write(() => unlockPinOf(page.ctx, page.by, id));
    return seeOther('/tills');
  }),
  ...tillPinRoutes,
];
