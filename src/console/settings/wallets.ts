/** The wallets of phones in which recipients keep cards: what an owner uploads to set one up. */

import { credentialBytesMax, type AppleProblem } from '../../domain/wallets/wallet.ts';
import { Fault } from '../../domain/fault.ts';
import { Secret } from '../../platform/secret.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { endWallet, setUpWallet } from '../../service/staff-actions/wallets.ts';
import type { Wallet } from '../../storage/wallets/wallet.ts';
import { withoutAccess } from '../cards/change-form.ts';
import { alert, inputField } from '../kit/form.ts';
import { timeText } from '../kit/format.ts';
import { keyInput } from '../kit/once.ts';
import { facts } from '../kit/parts.ts';
import { get, post, type Page } from '../kit/page-context.ts';
import {
  seeOther,
  type ConsoleResponse,
  type PageResponse,
  type StaffRoute,
  type WalletTools,
} from '../kit/route.ts';
import { fillPlain } from '../kit/texts.ts';

export const walletsPath = '/settings/wallets';
const applePath = `${walletsPath}/apple`;

/** Both files, the password, and what is between them. */
const formBytesMax = 2 * credentialBytesMax + 10_000;

const doneNames = ['saved', 'removed', 'repeated'] as const;

/** The field at which a problem of the files is shown. */
function fieldOf(problem: AppleProblem): 'certificate' | 'intermediate' | 'password' {
  if (problem === 'password') return 'password';
  return problem === 'noIntermediate' ? 'intermediate' : 'certificate';
}

function fileField(
  page: Page,
  {
    name,
    problem,
    isOptional = false,
  }: {
    readonly name: 'certificate' | 'intermediate';
    readonly problem: AppleProblem | undefined;
    readonly isOptional?: boolean;
  },
): Markup {
  const text = page.text.wallets.apple;
  const hasError = problem !== undefined && fieldOf(problem) === name;
  const invalid = hasError ? markup` aria-invalid="true"` : undefined;
  const error = hasError
    ? markup`<p class="error" id="${name}-error">${text.errors[problem]}</p>`
    : undefined;
  const described = `${hasError ? `${name}-error ` : ''}${name}-hint`;
  const required = isOptional ? undefined : markup` required`;
  return markup`<div><label for="${name}">${text[name]}</label>
<input class="field" id="${name}" name="${name}" type="file" accept=".p12,.pfx,.pem,.cer,.crt" aria-describedby="${described}"${required}${invalid}>
${error}<p class="hint" id="${name}-hint">${text[`${name}Hint`]}</p></div>`;
}

function applePanel(page: Page, wallet: Wallet | undefined, problem: AppleProblem | undefined): Markup {
  const text = page.text.wallets.apple;
  const action = page.url(applePath);
  const password = inputField({
    name: 'password',
    label: text.password,
    type: 'password',
    autocomplete: 'off',
    isOptional: true,
    hint: text.passwordHint,
    error: problem === 'password' ? text.errors.password : undefined,
  });
  return markup`<section class="panel stack" aria-labelledby="apple"><h2 id="apple">${text.title}</h2>${wallet ? presentPart(page, wallet) : markup`<p>${text.hint}</p>`}
<form class="stack" method="post" action="${action}" enctype="multipart/form-data">${keyInput(page.ctx)}<div class="fields">${fileField(page, { name: 'certificate', problem })}
${password}
${fileField(page, { name: 'intermediate', problem, isOptional: true })}</div>
<div class="row"><button class="button first">${wallet ? text.replace : text.setUp}</button></div></form></section>`;
}

function presentPart(page: Page, { name, holder, expiresAt, failingSince, failure }: Wallet): Markup {
  const text = page.text.wallets.apple;
  const failing =
    failingSince === null || failure === null
      ? undefined
      : markup`<div class="notice bad" role="status"><p>${fillPlain(text.failing, { time: timeText(failingSince, page.store, page.language) })} <span lang="en">${failure}</span></p></div>`;
  const rows = {
    [text.passType]: markup`<span dir="ltr">${name}</span>`,
    [text.team]: markup`<span dir="ltr">${holder}</span>`,
    ...(expiresAt !== null && { [text.until]: page.day(expiresAt) }),
  };
  const remove = page.form(
    `${applePath}/remove`,
    markup`<p class="hint">${text.removeHint}</p><div><button class="button danger">${text.remove}</button></div>`,
  );
  return markup`${failing}${facts(rows)}${remove}`;
}

async function walletsPage(
  page: Page,
  { problem, notice }: { readonly problem?: AppleProblem; readonly notice?: string } = {},
): Promise<PageResponse> {
  const text = page.text.wallets;
  const tools = toolsOf(page);
  const done = doneNames.find((name) => name === page.request.query.get('done'));
  const said = done && markup`<p class="notice good" role="status">${text.done[done]}</p>`;
  const wallets = tools ? await tools.of(page.store.id) : [];
  const panels = tools
    ? applePanel(
        page,
        wallets.find(({ kind }) => kind === 'apple'),
        problem,
      )
    : markup`<section class="panel"><p>${text.needsUrl}</p></section>`;
  return page.show('/settings', {
    status: problem === undefined && notice === undefined ? 200 : 422,
    title: text.title,
    body: markup`<div class="stack settings"><p class="lead">${text.lead}</p>${said}${notice === undefined ? undefined : alert(notice)}
${panels}
<div class="row">${page.link('/settings', page.text.backups.back, 'quiet')}</div></div>`,
  });
}

/** Null: phones cannot reach the service, or the store is the demonstration, whose owner has no password. */
function toolsOf({ services, store }: Page): WalletTools | null {
  return store.demonstration ? null : services.wallets;
}

async function saveApple(page: Page): Promise<ConsoleResponse> {
  const { key } = page;
  const tools = toolsOf(page);
  if (!tools || key === undefined) return await walletsPage(page, { notice: page.text.settings.expiredForm });
  const { files, form } = page.request;
  const read = await tools.readApple({
    certificate: files.get('certificate'),
    intermediate: files.get('intermediate'),
    password: new Secret(form.get('password') ?? ''),
  });
  if (!read.ok) return await walletsPage(page, { problem: read.problem });
  const { certificate } = read;
  const change = {
    kind: 'apple',
    name: certificate.passTypeId,
    holder: certificate.teamId,
    expiresAt: certificate.expiresAt,
    credential: tools.credentialOf(certificate),
  } as const;
  return await changed(page, 'saved', async () => {
    const { isRepeated } = await page.once(key, () => setUpWallet(page.ctx, page.by, change));
    return isRepeated;
  });
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

export const walletRoutes: readonly StaffRoute[] = [
  get(walletsPath, owners, (page) => walletsPage(page)),
  post(applePath, owners, saveApple, {
    acceptsFile: true,
    formBytesMax,
    tooLarge: (page) => walletsPage(page, { problem: 'size' }),
  }),
  post(`${applePath}/remove`, owners, (page) =>
    changed(page, 'removed', async () => {
      await page.write(() => endWallet(page.ctx, page.by, 'apple'));
      return false;
    }),
  ),
];
