/** The locations of a store: their list, and the forms with which an owner adds, changes and closes one. */

import { Fault } from '../../../core/domain/fault.ts';
import {
  locationsMax,
  parseLocationAddress,
  parseLocationName,
  type Location,
  type LocationFields,
} from '../../../core/stores/domain/location.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { addLocationAs, changeLocationAs, closeLocationAs } from '../service/location.ts';
import { listDevices } from '../../till/service/till.ts';
import { listAllLocations, requireLocation } from '../../../core/stores/service/location.ts';
import type { ListedTill } from '../../../core/staff/storage/till.ts';
import { parseTimeZone, timeZoneOptions } from '../../setup/pages/setup-choices.ts';
import { inputField, textArea } from '../../../pages/kit/form.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { table, tag } from '../../../pages/kit/parts.ts';
import { seeOther, type ConsoleResponse, type StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';

const path = '/settings/locations';

type Field = 'name' | 'address' | 'time_zone';

type FormState = {
  readonly values: Readonly<Record<Field, string>>;
  readonly errors: Readonly<Partial<Record<Field, string>>>;
};

const emptyForm: FormState = { values: { name: '', address: '', time_zone: '' }, errors: {} };

function formOfLocation({ name, address, timeZone }: Location): FormState {
  return { values: { name, address: address ?? '', time_zone: timeZone ?? '' }, errors: {} };
}

/** The fields as they were typed, or the form with its errors. */
function readForm(page: Page): { readonly fields: LocationFields } | { readonly form: FormState } {
  const text = page.text.locations;
  const values = {
    name: page.typed('name').slice(0, 400),
    address: page.typed('address').replaceAll('\r\n', '\n').slice(0, 2_000),
    time_zone: page.typed('time_zone').slice(0, 100),
  };
  const [name, address] = [parseLocationName(values.name), parseLocationAddress(values.address)];
  const timeZone = values.time_zone === '' ? null : parseTimeZone(values.time_zone);
  if (name.ok && address.ok && timeZone !== undefined)
    return { fields: { name: name.value, address: address.value, timeZone } };
  const nameError = values.name === '' ? text.nameMissing : text.nameInvalid;
  return {
    form: {
      values,
      errors: {
        ...(!name.ok && { name: nameError }),
        ...(!address.ok && { address: text.addressInvalid }),
        ...(timeZone === undefined && { time_zone: text.zoneInvalid }),
      },
    },
  };
}

function fieldsOf(page: Page, { values, errors }: FormState): Markup {
  const text = page.text.locations;
  return markup`${inputField({ name: 'name', label: text.name, value: values.name, error: errors.name })}
${textArea({ name: 'address', label: text.address, value: values.address, hint: text.addressHint, error: errors.address })}
${inputField({ name: 'time_zone', label: text.zone, value: values.time_zone, hint: text.zoneHint, error: errors.time_zone, options: timeZoneOptions(), isOptional: true })}`;
}

/** The key of a form that is shown again stays, so that it is sent once. */
function keyOfForm(page: Page, { errors }: FormState): string | undefined {
  return Object.keys(errors).length === 0 ? undefined : page.key;
}

function statusOf({ errors }: FormState): 200 | 422 {
  return Object.keys(errors).length === 0 ? 200 : 422;
}

async function listPage(page: Page, form: FormState): Promise<ConsoleResponse> {
  const text = page.text.locations;
  const locations = await page.read(() => listAllLocations(page.store.id));
  const { tills } = await page.read(() => listDevices(page.store));
  const enrolled = tills.filter(({ revokedAt }) => revokedAt === null);
  const shown =
    locations.length === 0
      ? markup`<p class="empty">${text.none}</p>`
      : table({
          columns: [
            text.name,
            { class: 'wide', name: text.address },
            text.tills,
            text.state,
            { class: 'end', name: text.action, isHidden: true },
          ],
          rows: locations.map((location) => rowOf(page, location, enrolled)),
        });
  const body = markup`<div class="stack"><p class="soft">${text.intro}</p>
<div class="grid two"><section class="panel flush" aria-labelledby="listed"><h2 id="listed">${text.title}</h2>${shown}</section>
<section class="panel stack" aria-labelledby="add"><h2 id="add">${text.add}</h2>
${page.form(path, markup`${fieldsOf(page, form)}<button class="button first">${text.addButton}</button>`, keyOfForm(page, form))}</section></div></div>`;
  return page.show('/settings', { title: text.title, body, status: statusOf(form) });
}

function rowOf(page: Page, location: Location, tills: readonly ListedTill[]) {
  const text = page.text.locations;
  const { id, name, address, closedAt } = location;
  const own = tills.filter(({ locationId }) => locationId === id).map((till) => till.name);
  const link = page.link(`${path}/${String(id)}`, text.change, '', fillPlain(text.changeName, { name }));
  return [
    { heading: name },
    { class: 'wide', html: address?.replaceAll('\n', ', ') ?? '' },
    own.join(', '),
    closedAt === null ? tag('good', text.open) : tag('ended', text.closedTag),
    { class: 'aside end', html: link },
  ];
}

function changePage(page: Page, location: Location, form: FormState): ConsoleResponse {
  const text = page.text.locations;
  const own = `${path}/${String(location.id)}`;
  const isOpen = location.closedAt === null;
  const [action, label, kind] = isOpen ? ['close', text.close, 'bad'] : ['reopen', text.reopen, ''];
  const body = markup`<div class="stack"><p>${page.link(path, text.back, 'quiet')}</p>
<section class="panel stack change" aria-labelledby="change"><h2 id="change">${location.name}</h2>
${page.form(own, markup`${fieldsOf(page, form)}<div class="row"><button class="button first">${text.save}</button></div>`, keyOfForm(page, form))}</section>
<section class="panel stack change" aria-label="${label}"><p class="soft">${text.closeHint}</p>
<form method="post" action="${page.url(`${own}/${action}`)}"><button class="button ${kind}">${label}</button></form></section></div>`;
  return page.show('/settings', { title: text.title, body, status: statusOf(form) });
}

async function locationIn(page: Page): Promise<Location> {
  const id = page.storedId();
  return await page.read(() => requireLocation(page.store.id, id));
}

async function add(page: Page): Promise<ConsoleResponse> {
  const read = readForm(page);
  if ('form' in read) return await listPage(page, read.form);
  const { key } = page;
  if (key === undefined) throw new Fault('invalid-body');
  try {
    await page.once(key, function* () {
      return (yield* addLocationAs(page.ctx, page.by, read.fields)).id;
    });
  } catch (error) {
    if (!(error instanceof Fault) || !error.errors?.['name']) throw error;
    const tooMany = fillPlain(page.text.locations.tooMany, { count: locationsMax });
    const { name, address, timeZone } = read.fields;
    const values = { name, address: address ?? '', time_zone: timeZone ?? '' };
    return await listPage(page, { values, errors: { name: tooMany } });
  }
  return seeOther(path);
}

async function change(page: Page): Promise<ConsoleResponse> {
  const location = await locationIn(page);
  const read = readForm(page);
  if ('form' in read) return changePage(page, location, read.form);
  await page.write(() => changeLocationAs(page.ctx, page.by, location.id, read.fields));
  return seeOther(path);
}

async function setClosed(page: Page, isClosed: boolean): Promise<ConsoleResponse> {
  const id = page.storedId();
  await page.write(() => closeLocationAs(page.ctx, page.by, id, isClosed));
  return seeOther(path);
}

export const locationSettingsRoutes: readonly StaffRoute[] = [
  get(path, 'changeSettings', async (page) => await listPage(page, emptyForm)),
  post(path, 'changeSettings', add),
  get(`${path}/:id`, 'changeSettings', async (page) => {
    const location = await locationIn(page);
    return changePage(page, location, formOfLocation(location));
  }),
  post(`${path}/:id`, 'changeSettings', change),
  post(`${path}/:id/close`, 'changeSettings', async (page) => await setClosed(page, true)),
  post(`${path}/:id/reopen`, 'changeSettings', async (page) => await setClosed(page, false)),
];
