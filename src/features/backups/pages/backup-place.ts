/** The form with the place of the backups: another disk, S3, or a download. */

import {
  backupRhythms,
  parseBucket,
  parseS3Text,
  s3SecretLengthMax,
  type AnyPlace,
  type BackupPlace,
  type S3Bucket,
} from '../domain/backup.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { Parsed } from '../../../platform/parsed.ts';
import { Secret } from '../../../platform/secret.ts';
import type { BackupState } from '../service/backups.ts';
import { removeBackups, setBackupPlace } from '../service/staff-backups.ts';
import { inputField, select } from '../../../pages/kit/form.ts';
import type { Page, VisitorPage } from '../../../pages/kit/page-context.ts';
import { seeOther, type ConsoleResponse } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { waitShortly } from '../../../pages/kit/wait.ts';
import { changeAndNotify, notifyOwners } from '../../owner-notices/pages/owner-notice.ts';
import { backupsPath } from './recovery-sheet.ts';
import type { BackupTools } from './tools.ts';

const kinds = ['disk', 's3', 'download'] as const;
export const bucketFieldNames = ['address', 'region', 'bucket', 'keyId'] as const;
const fields = ['kind', 'disk', ...bucketFieldNames, 'rhythm'] as const;

export type BucketField = (typeof bucketFieldNames)[number];

type Field = (typeof fields)[number];
type Values = Readonly<Record<Field, string>>;
type PlaceErrors = Readonly<Partial<Record<Field | 'secret', string>>>;
export type ShownPlace = { readonly values: Values; readonly errors: PlaceErrors };

/** A place in the language of the page. */
export function backupPlaceText(page: Page, place: AnyPlace): string {
  const { places } = page.text.backups;
  switch (place.kind) {
    case 'disk':
      return fillPlain(places.disk, { path: place.mount });
    case 's3':
      return fillPlain(places.s3, { bucket: place.bucket, host: place.host });
    case 'download':
      return places.download;
    case 'folder':
      return fillPlain(places.folder, { path: place.folder });
  }
}

function valuesOf({ settings: { place, rhythm } }: BackupState): Values {
  const none = { kind: place?.kind ?? '', disk: '', address: '', region: '', bucket: '', keyId: '', rhythm };
  if (place?.kind === 'disk') return { ...none, disk: place.mount };
  if (place?.kind !== 's3') return none;
  return { ...none, ...bucketValuesOf(place) };
}

/** The fields of a bucket, as they are typed. */
export function bucketValuesOf({
  host,
  port,
  region,
  bucket,
  keyId,
}: S3Bucket): Readonly<Record<BucketField, string>> {
  return { address: `https://${host}${port === 443 ? '' : `:${port}`}`, region, bucket, keyId };
}

/** The fields of a bucket, without the secret. @param isOptional whether another place can be chosen. */
export function bucketInputs(
  { text: { backups: text } }: Pick<VisitorPage, 'text'>,
  {
    values,
    errors,
    isOptional,
  }: {
    readonly values: Readonly<Record<BucketField, string>>;
    readonly errors: Readonly<Partial<Record<BucketField, string>>>;
    readonly isOptional: boolean;
  },
): Markup {
  const input = (name: BucketField, label: string, hint?: string, optional = isOptional): Markup =>
    inputField({
      name,
      label,
      value: values[name],
      error: errors[name],
      isOptional: optional,
      ...(hint !== undefined && { hint }),
    });
  return markup`${input('address', text.s3Address, text.s3AddressHint)}
${input('region', text.s3Region, text.s3RegionHint, true)}
${input('bucket', text.s3Bucket, text.s3BucketHint)}
${input('keyId', text.s3KeyId)}`;
}

export function placePanel(page: Page, tools: BackupTools, state: BackupState, shown?: ShownPlace): Markup {
  const text = page.text.backups;
  const { values, errors } = shown ?? { values: valuesOf(state), errors: {} };
  const field = (name: Field, label: string, hint?: string) => ({
    name,
    label,
    value: values[name],
    error: errors[name],
    ...(hint !== undefined && { hint }),
  });
  const choice = (kind: (typeof kinds)[number]): Markup => {
    const checked = values.kind === kind ? markup` checked` : undefined;
    return markup`<label class="choice rows"><input type="radio" name="kind" value="${kind}" required${checked}><span>${text.kinds[kind].name}</span><span class="soft">${text.kinds[kind].hint}</span></label>
`;
  };
  const disks = tools.listDisks();
  const options = [
    { value: '', text: disks.length === 0 ? text.noDisk : text.choose },
    ...disks.map(({ path, source, isWritable }) => ({
      value: path,
      text: fillPlain(isWritable ? text.disk : text.diskNotWritable, { path, source }),
    })),
  ];
  const { secretSetAt } = state.settings;
  const secret = inputField({
    name: 'secret',
    label: text.secret,
    type: 'password',
    isOptional: true,
    error: errors.secret,
    hint:
      secretSetAt === null
        ? text.secretHint
        : markup`${text.secretSet} ${page.day(secretSetAt)}. ${text.secretStays}`,
  });
  const problem =
    errors.kind === undefined ? undefined : markup`<p class="error" role="alert">${errors.kind}</p>`;
  const body = markup`${problem}<fieldset class="places"><legend>${text.where}</legend><div class="choices down">${kinds.map(choice)}</div>
<div class="fields of-disk">${select({ ...field('disk', text.diskLabel, text.diskHint), options })}</div>
<div class="fields of-s3">${bucketInputs(page, { values, errors, isOptional: true })}
${secret}</div></fieldset>
<div class="fields">${select({ ...field('rhythm', text.rhythm, text.kept), options: backupRhythms.map((value) => ({ value, text: text.rhythms[value] })) })}</div>
<div><button class="button first">${text.save}</button></div>`;
  const remove =
    state.settings.place === null
      ? undefined
      : page.form(
          `${backupsPath}/remove`,
          markup`<div><button class="button danger">${text.remove}</button></div>`,
        );
  return markup`<section class="panel stack" aria-labelledby="place"><h2 id="place">${text.place}</h2>${page.form(backupsPath, body)}${remove}</section>`;
}

type ReadPlace =
  { readonly ok: true; readonly place: BackupPlace } | { readonly ok: false; readonly errors: PlaceErrors };

type ReadBucket =
  | { readonly ok: true; readonly bucket: S3Bucket }
  | { readonly ok: false; readonly errors: Readonly<Partial<Record<BucketField, string>>> };

/** Reads the fields of a bucket, without the secret. */
export function readBucket(
  { text: { backups } }: Pick<VisitorPage, 'text'>,
  { parseHost }: Pick<BackupTools, 'parseHost'>,
  values: Readonly<Record<BucketField, string>>,
): ReadBucket {
  const errors: Partial<Record<BucketField, string>> = {};
  const read = <Value>(name: BucketField, parsed: Parsed<Value>): Value | undefined => {
    if (parsed.ok) return parsed.value;
    errors[name] = backups.errors[name];
    return undefined;
  };
  const address = read('address', parseHost(values.address));
  const region = read('region', parseS3Text(values.region === '' ? 'us-east-1' : values.region));
  const bucket = read('bucket', parseBucket(values.bucket));
  const keyId = read('keyId', parseS3Text(values.keyId));
  if (!address || region === undefined || bucket === undefined || keyId === undefined)
    return { ok: false, errors };
  return { ok: true, bucket: { ...address, region, bucket, keyId } };
}

function readPlace(page: Page, tools: BackupTools, values: Values): ReadPlace {
  const { errors: texts } = page.text.backups;
  switch (values.kind) {
    case 'download':
      return { ok: true, place: { kind: 'download' } };
    case 'disk': {
      // Only a disk of the list, never a typed path.
      const disk = tools.listDisks().find(({ path }) => path === values.disk);
      if (!disk) return { ok: false, errors: { disk: texts.disk } };
      return { ok: true, place: { kind: 'disk', mount: disk.path } };
    }
    case 's3': {
      const read = readBucket(page, tools, values);
      return read.ok ? { ok: true, place: { kind: 's3', ...read.bucket } } : read;
    }
    default:
      return { ok: false, errors: { kind: texts.kind } };
  }
}

/** @param rejected the page of the backups with the form and its errors. */
export async function savePlace(
  page: Page,
  tools: BackupTools,
  rejected: (shown: ShownPlace) => Promise<ConsoleResponse>,
): Promise<ConsoleResponse> {
  const text = page.text.backups;
  const values = Object.fromEntries(fields.map((name) => [name, page.typed(name)])) as Record<Field, string>;
  const typed = page.request.form.get('secret') ?? '';
  const read = readPlace(page, tools, values);
  if (!read.ok) return await rejected({ values, errors: read.errors });
  if (typed.length > s3SecretLengthMax)
    return await rejected({ values, errors: { secret: text.errors.secret } });
  const rhythm = backupRhythms.find((each) => each === values.rhythm) ?? 'nightly';
  const secret = typed === '' ? null : new Secret(typed);
  const { place } = read;
  const shown = backupPlaceText(page, place);
  try {
    await changeAndNotify(
      page,
      () => setBackupPlace(page.ctx, page.by, { rule: tools.rule, place, rhythm, secret, shown }),
      () => noticeOf(page, shown),
    );
  } catch (error) {
    if (!(error instanceof Fault) || !error.errors?.['secret']) throw error;
    return await rejected({ values, errors: { secret: text.errors.secretAgain } });
  }
  const areNotified = await notifyOwners(page);
  // A first backup shows at once whether the place works.
  await waitShortly(tools.run());
  return seeOther(`${backupsPath}?done=${areNotified ? 'saved' : 'savedUnnoticed'}`);
}

/** @param shown the new place; null: the backups have ended. */
function noticeOf(page: Page, shown: string | null) {
  const { notices } = page.text.backups;
  const { member, store } = page;
  const values = { name: member.name, email: member.email, place: shown ?? '' };
  const text = shown === null ? notices.removed : notices.changed;
  return {
    subject: fillPlain(text.subject, { store: store.name }),
    paragraphs: [fillPlain(text.text, values), notices.advice],
  };
}

export async function removePlace(page: Page, tools: BackupTools): Promise<ConsoleResponse> {
  await changeAndNotify(
    page,
    () => removeBackups(page.ctx, page.by, tools.rule),
    () => noticeOf(page, null),
  );
  await notifyOwners(page);
  return seeOther(`${backupsPath}?done=removed`);
}
