/** The check of a card: each entry of its ledger, recomputed, and the last checkpoint. */

import { markup, type Markup } from '../../../platform/markup.ts';
import { checkCard, checkedMax, type CardCheck, type CheckedEntry } from '../../proofs/service/card-check.ts';
import { movementName, signedAmount } from './texts.ts';
import type { ConsoleResponse, StaffRequest } from '../../../pages/kit/route.ts';
import { fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import { idIn } from '../../../pages/kit/ids.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

type Checked = CardCheck & { readonly path: string };

export async function checkPage(page: Page): Promise<ConsoleResponse> {
  const text = page.text.card;
  const cardId = idIn(page.services, page.request);
  const sent = page.request.query.get('after') ?? '';
  const after = /^\d{1,9}$/.test(sent) ? Number(sent) : null;
  const result = await page.read(() => checkCard(page.ctx, { storeId: page.store.id, cardId }, { after }));
  const path = `${page.basePath}/cards/${page.publicId(cardId)}`;
  const checked: Checked = { ...result, path };
  const { card } = result;
  const ending = markup`<a class="code" href="${path}"><span aria-hidden="true">•••• </span>${card.lastCharacters}</a>`;
  const heading = markup`<a class="soft quiet" href="${page.basePath}/cards">${text.cards}</a> <span class="soft" aria-hidden="true">/</span> ${ending} <span class="soft" aria-hidden="true">/</span> ${text.verifyName}`;
  const body = markup`<div class="stack">${verdict(page, checked)}
<div class="grid two"><div class="stack">${chainPanel(page, checked)}</div>
<aside class="stack" aria-label="${text.checkpoint}">${checkpointPanel(page, checked)}${meaningPanel(page, checked)}</aside></div></div>`;
  return page.show('/cards', {
    title: fillPlain(text.verifyTitle, { last: card.lastCharacters }),
    heading,
    actions: markup`<button class="button" type="button" data-print hidden>${text.print}</button>`,
    body,
  });
}

function isIntact({ entries, isEnd, proven }: Checked): boolean {
  return (
    isEnd !== false && proven?.isValid !== false && entries.every(({ problems }) => problems.length === 0)
  );
}

function number(value: number, { language }: StaffRequest): string {
  return new Intl.NumberFormat(language).format(value);
}

function verdict(page: Page, checked: Checked): Markup {
  const text = page.text.card;
  const { card, entries, length, before, isEnd } = checked;
  if (!isIntact(checked)) {
    const end = isEnd === false ? markup` ${text.wrongEnd}` : undefined;
    const checkpoint = checked.proven?.isValid === false ? markup` ${text.checkpointWrong}` : undefined;
    return markup`<p class="notice" role="alert"><span>${text.notVerified}${end}${checkpoint}</span></p>`;
  }
  const count = number(length, page.request);
  const sentence =
    before === 0 && isEnd === true
      ? plural(page.language, text.verified, length, { balance: page.amount(card.balance) })
      : fillPlain(text.verifiedPart, {
          from: number(before + 1, page.request),
          to: number(before + entries.length, page.request),
          count,
        });
  return markup`<p class="notice good" role="status"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="m4 12.500 5 5L20 6.500"/></svg><span>${sentence}</span></p>`;
}

function chainPanel(page: Page, { entries, before, length, path }: Checked): Markup {
  const text = page.text.card;
  const link = (after: number, name: string): Markup =>
    markup`<a class="button" href="${path}/verify?after=${after}">${name}</a>`;
  const earlier = before > 0 ? link(Math.max(0, before - checkedMax), text.earlier) : undefined;
  const end = before + entries.length;
  const later = end < length && entries.length > 0 ? link(end, text.later) : undefined;
  const pages = earlier || later ? markup`<p class="row">${later}${earlier}</p>` : undefined;
  return markup`<section class="panel stack"><div class="row apart"><h2>${text.chain}</h2><span class="small soft">${text.chainText}</span></div><ol class="timeline">
${entries.map((entry) => entryLine(page, entry))}</ol>${pages}</section>`;
}

function entryLine(page: Page, { transfer, hash, problems }: CheckedEntry): Markup {
  const text = page.text.card;
  const result =
    problems.length === 0
      ? markup`<span class="good-text">✓ ${text.isRight}</span>`
      : markup`<strong class="error">${problems.map((problem) => text.problems[problem]).join(', ')}</strong>`;
  const details = [transfer.reference, transfer.note].filter((part) => part !== null).join(' · ');
  const shownHash = Buffer.from(hash).toString('hex').slice(0, 8);
  return markup`<li class="${problems.length === 0 ? 'money' : 'fail'}"><div><strong>${movementName(transfer, page.language)}</strong> <span class="soft">${details}</span></div><span class="sum">${signedAmount(transfer, page.language)}</span><span class="soft">${page.time(transfer.createdAt)} · <span class="mono">${shownHash}</span> · ${result}</span><span class="sum soft"><span class="sr">${text.balanceAfter} </span>${page.amount(transfer.balanceAfter)}</span></li>
`;
}

function checkpointPanel(page: Page, { proven }: Checked): Markup {
  const text = page.text.card;
  if (!proven)
    return markup`<section class="panel"><h2>${text.checkpoint}</h2><p class="soft">${text.noCheckpoint}</p></section>`;
  const { checkpoint, hashes, sequence } = proven;
  const root = Buffer.from(checkpoint.root).toString('hex').slice(0, 32);
  const covers = fillPlain(text.coversText, { count: number(checkpoint.size, page.request) });
  const way = fillPlain(text.pathText, { count: hashes, sequence: number(sequence, page.request) });
  return markup`<section class="panel"><h2>${text.checkpoint}</h2><dl class="facts"><dt>${text.signed}</dt><dd>${page.time(checkpoint.createdAt)}, Ed25519</dd><dt>${text.covers}</dt><dd>${covers}</dd><dt>${text.path}</dt><dd>${way}</dd><dt>${text.root}</dt><dd class="mono">${root}…</dd></dl></section>`;
}

function meaningPanel(page: Page, checked: Checked): Markup | undefined {
  if (!isIntact(checked)) return undefined;
  const text = page.text.card;
  const { proven } = checked;
  const signed =
    proven &&
    markup`<li class="done"><span>${fill(text.meaningCheckpoint, { time: page.time(proven.checkpoint.createdAt) })}</span></li>`;
  return markup`<section class="panel stack"><h2>${text.meaning}</h2><ol class="steps"><li class="done"><span>${text.meaningChain}</span></li>${signed ?? undefined}</ol><p class="small soft">${text.meaningLimits}</p></section>`;
}
