/** The wallets of phones in which recipients keep cards: what an owner uploads to set one up. */

import { walletTool, type WalletTools } from './tools.ts';
import {
  credentialBytesMax,
  type AppleProblem,
  type GoogleProblem,
  type WalletKind,
} from '../domain/wallet.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { Secret } from '../../../platform/secret.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { endWallet, setUpWallet, type WalletChange } from '../service/staff-wallets.ts';
import type { Wallet } from '../storage/wallet.ts';
import { withoutAccess } from '../../../pages/kit/without-access.ts';
import { alert, inputField } from '../../../pages/kit/form.ts';
import { timeText } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import { facts } from '../../../pages/kit/parts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import {
  seeOther,
  type ConsoleResponse,
  type PageResponse,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';

export const walletsPath = '/settings/wallets';

function pathOf(kind: WalletKind): string {
  return `${walletsPath}/${kind}`;
}

/** Both files, the password, and what is between them. */
const formBytesMax = 2 * credentialBytesMax + 10_000;

const doneNames = ['saved', 'removed', 'repeated'] as const;

type Tested = NonNullable<Awaited<ReturnType<WalletTools['testGoogle']>>>;

/** The rest of the page, in addition to the stored wallets. */
type Shown = {
  /** The problem of an upload. */
  readonly apple?: AppleProblem;
  readonly google?: GoogleProblem;
  /** The issuer id of an upload that was not accepted. */
  readonly issuerId?: string;
  /** The result of a test. */
  readonly tested?: Tested;
  readonly notice?: string;
};

/** The field at which a problem of the files is shown. */
function fieldOf(problem: AppleProblem): 'certificate' | 'intermediate' | 'password' {
  if (problem === 'password') return 'password';
  return problem === 'noIntermediate' ? 'intermediate' : 'certificate';
}

type FileField = {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly accept: string;
  readonly error: string | undefined;
  readonly isOptional?: boolean;
};

function fileField({ name, label, hint, accept, error, isOptional = false }: FileField): Markup {
  const invalid = error === undefined ? undefined : markup` aria-invalid="true"`;
  const said = error === undefined ? undefined : markup`<p class="error" id="${name}-error">${error}</p>`;
  const described = `${error === undefined ? '' : `${name}-error `}${name}-hint`;
  const required = isOptional ? undefined : markup` required`;
  return markup`<div><label for="${name}">${label}</label>
<input class="field" id="${name}" name="${name}" type="file" accept="${accept}" aria-describedby="${described}"${required}${invalid}>
${said}<p class="hint" id="${name}-hint">${hint}</p></div>`;
}

/** A kind of wallet: what is stored, and the form that sets it up or replaces its key. */
function walletPanel(
  page: Page,
  kind: WalletKind,
  {
    wallet,
    present,
    fields,
  }: { readonly wallet: Wallet | undefined } & {
    /** About a wallet that is set up. */
    readonly present: (wallet: Wallet) => Markup;
    readonly fields: Markup;
  },
): Markup {
  const text = page.text.wallets[kind];
  return markup`<section class="panel stack" aria-labelledby="${kind}"><h2 id="${kind}">${text.title}</h2>${wallet ? presentPart(page, wallet, present(wallet)) : markup`<p>${text.hint}</p>`}
<form class="stack" method="post" action="${page.url(pathOf(kind))}" enctype="multipart/form-data">${keyInput(page.ctx)}<div class="fields">${fields}</div>
<div class="row"><button class="button first">${wallet ? text.replace : text.setUp}</button></div></form></section>`;
}

function presentPart(page: Page, { kind, failingSince, failure }: Wallet, present: Markup): Markup {
  const text = page.text.wallets[kind];
  const failing =
    failingSince === null || failure === null
      ? undefined
      : markup`<div class="notice bad" role="status"><p>${fillPlain(text.failing, { time: timeText(failingSince, page.store, page.language) })} <span lang="en">${failure}</span></p></div>`;
  const remove = page.form(
    `${pathOf(kind)}/remove`,
    markup`<p class="hint">${text.removeHint}</p><div><button class="button danger">${text.remove}</button></div>`,
  );
  return markup`${failing}${present}${remove}`;
}

function applePanel(page: Page, wallet: Wallet | undefined, problem: AppleProblem | undefined): Markup {
  const text = page.text.wallets.apple;
  const errorAt = (name: 'certificate' | 'intermediate' | 'password'): string | undefined =>
    problem !== undefined && fieldOf(problem) === name ? text.errors[problem] : undefined;
  const file = (name: 'certificate' | 'intermediate', isOptional = false): Markup =>
    fileField({
      name,
      label: text[name],
      hint: text[`${name}Hint`],
      accept: '.p12,.pfx,.pem,.cer,.crt',
      error: errorAt(name),
      isOptional,
    });
  const password = inputField({
    name: 'password',
    label: text.password,
    type: 'password',
    autocomplete: 'off',
    isOptional: true,
    hint: text.passwordHint,
    error: errorAt('password'),
  });
  return walletPanel(page, 'apple', {
    wallet,
    present: ({ name, holder, expiresAt }) =>
      facts({
        [text.passType]: markup`<span dir="ltr">${name}</span>`,
        [text.team]: markup`<span dir="ltr">${holder}</span>`,
        ...(expiresAt !== null && { [text.until]: page.day(expiresAt) }),
      }),
    fields: markup`${file('certificate')}
${password}
${file('intermediate', true)}`,
  });
}

function googlePanel(
  page: Page,
  wallet: Wallet | undefined,
  { google: problem, issuerId = wallet?.name ?? '', tested }: Shown,
): Markup {
  const text = page.text.wallets.google;
  const error = problem && text.errors[problem];
  const issuer = inputField({
    name: 'issuer',
    label: text.issuer,
    value: issuerId,
    inputMode: 'numeric',
    hint: text.issuerHint,
    error: problem === 'issuer' ? error : undefined,
  });
  const file = fileField({
    name: 'account',
    label: text.file,
    hint: text.fileHint,
    accept: '.json',
    error: problem === 'issuer' ? undefined : error,
  });
  return walletPanel(page, 'google', {
    wallet,
    present: ({ name, holder }) => {
      const result =
        tested &&
        markup`<div class="notice ${tested.ok ? 'good' : 'bad'}" role="status"><p>${tested.ok ? text.tested : text.testFailed} <span lang="en">${tested.detail}</span></p></div>`;
      const rows = facts({
        [text.issuer]: markup`<span dir="ltr">${name}</span>`,
        [text.account]: markup`<span dir="ltr">${holder}</span>`,
      });
      const test = page.form(
        `${pathOf('google')}/test`,
        markup`<p class="hint">${text.testHint}</p><div><button class="button">${text.test}</button></div>`,
      );
      return markup`${result}${rows}${test}`;
    },
    fields: markup`${issuer}
${file}`,
  });
}

async function walletsPage(page: Page, shown: Shown = {}): Promise<PageResponse> {
  const text = page.text.wallets;
  const tools = toolsOf(page);
  const done = doneNames.find((name) => name === page.request.query.get('done'));
  const said = done && markup`<p class="notice good" role="status">${text.done[done]}</p>`;
  const wallets = tools ? await tools.of(page.store.id) : [];
  const walletOf = (kind: WalletKind): Wallet | undefined => wallets.find((each) => each.kind === kind);
  const panels = tools
    ? markup`${applePanel(page, walletOf('apple'), shown.apple)}
${googlePanel(page, walletOf('google'), shown)}`
    : markup`<section class="panel"><p>${text.needsUrl}</p></section>`;
  const { apple, google, notice } = shown;
  return page.show('/settings', {
    status: apple === undefined && google === undefined && notice === undefined ? 200 : 422,
    title: text.title,
    body: markup`<div class="stack settings"><p class="lead">${text.lead}</p>${said}${notice === undefined ? undefined : alert(notice)}
${panels}
<div class="row">${page.link('/settings', page.text.backups.back, 'quiet')}</div></div>`,
  });
}

/** Null: phones cannot reach the service, or the store is the demonstration, whose owner has no password. */
function toolsOf({ services, store }: Page): WalletTools | null {
  return store.demonstration ? null : services.tools.of(walletTool);
}

async function saveApple(page: Page): Promise<ConsoleResponse> {
  const tools = toolsOf(page);
  if (!tools) return await walletsPage(page, { notice: page.text.settings.expiredForm });
  const { files, form } = page.request;
  const read = await tools.readApple({
    certificate: files.get('certificate'),
    intermediate: files.get('intermediate'),
    password: new Secret(form.get('password') ?? ''),
  });
  if (!read.ok) return await walletsPage(page, { apple: read.problem });
  const { certificate } = read;
  return await save(page, {
    kind: 'apple',
    name: certificate.passTypeId,
    holder: certificate.teamId,
    expiresAt: certificate.expiresAt,
    credential: tools.appleCredential(certificate),
  });
}

async function saveGoogle(page: Page): Promise<ConsoleResponse> {
  const tools = toolsOf(page);
  if (!tools) return await walletsPage(page, { notice: page.text.settings.expiredForm });
  const { files, form } = page.request;
  const issuerId = (form.get('issuer') ?? '').trim();
  const read = tools.readGoogle({ file: files.get('account'), issuerId });
  if (!read.ok) return await walletsPage(page, { google: read.problem, issuerId: issuerId.slice(0, 40) });
  return await save(page, {
    kind: 'google',
    name: issuerId,
    holder: read.key.account,
    expiresAt: null,
    credential: tools.googleCredential(read.key),
  });
}

async function save(page: Page, change: WalletChange): Promise<ConsoleResponse> {
  const { key } = page;
  if (key === undefined) return await walletsPage(page, { notice: page.text.settings.expiredForm });
  return await changed(page, 'saved', async () => {
    const { isRepeated } = await page.once(key, () => setUpWallet(page.ctx, page.by, change));
    return isRepeated;
  });
}

/** Shows Google's response to the stored key. */
async function testGoogle(page: Page): Promise<ConsoleResponse> {
  const tested = await toolsOf(page)?.testGoogle(page.store);
  return await walletsPage(page, tested ? { tested } : {});
}

/** Makes a change, and leads back to the page. */
async function changed(
  page: Page,
  done: (typeof doneNames)[number],
  change: () => Promise<boolean>,
): Promise<ConsoleResponse> {
  try {
    return seeOther(`${walletsPath}?done=${(await change()) ? 'repeated' : done}`);
  } catch (error) {
    const response = error instanceof Fault ? withoutAccess(page, error) : undefined;
    if (!response) throw error;
    return response;
  }
}

const owners = { sensitive: 'changeSettings' } as const;

function removal(kind: WalletKind): StaffRoute {
  return post(`${pathOf(kind)}/remove`, owners, (page) =>
    changed(page, 'removed', async () => {
      await page.write(() => endWallet(page.ctx, page.by, kind));
      return false;
    }),
  );
}

export const walletRoutes: readonly StaffRoute[] = [
  get(walletsPath, owners, (page) => walletsPage(page)),
  post(pathOf('apple'), owners, saveApple, {
    acceptsFile: true,
    formBytesMax,
    tooLarge: (page) => walletsPage(page, { apple: 'size' }),
  }),
  post(pathOf('google'), owners, saveGoogle, {
    acceptsFile: true,
    formBytesMax,
    tooLarge: (page) => walletsPage(page, { google: 'size' }),
  }),
  post(`${pathOf('google')}/test`, owners, testGoogle),
  removal('apple'),
  removal('google'),
];
