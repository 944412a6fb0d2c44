/** The check of a card: each entry of its ledger, recomputed, and the last checkpoint. */

import { markup, type Markup } from '../../platform/markup.ts';
import { checkCard, checkedMax, type CardCheck, type CheckedEntry } from '../../service/proofs/card-check.ts';
import { cardTexts, movementName, signedAmount } from './texts.ts';
import { amountText, timeElement } from '../kit/format.ts';
import { shellPage } from '../kit/page.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest } from '../kit/route.ts';
import { fill, fillPlain, plural } from '../kit/texts.ts';
import { idIn } from '../kit/ids.ts';

type Checked = CardCheck & { readonly path: string };

export async function checkPage(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, storage, frame } = services;
  const { store } = request.signedIn;
  const { language } = request;
  const text = cardTexts[language];
  const cardId = idIn(services, request);
  const sent = request.query.get('after') ?? '';
  const after = /^\d{1,9}$/.test(sent) ? Number(sent) : null;
  const result = await storage.read(() => checkCard(ctx, { storeId: store.id, cardId }, { after }));
  const path = `${frame.basePath}/cards/${ctx.keys.publicIds.of(cardId)}`;
  const checked: Checked = { ...result, path };
  const { card } = result;
  const ending = markup`<a class="code" href="${path}"><span aria-hidden="true">•••• </span>${card.lastCharacters}</a>`;
  const heading = markup`<a class="soft quiet" href="${frame.basePath}/cards">${text.cards}</a> <span class="soft" aria-hidden="true">/</span> ${ending} <span class="soft" aria-hidden="true">/</span> ${text.verifyName}`;
  const body = markup`<div class="stack">${verdict(request, checked)}
<div class="grid two"><div class="stack">${chainPanel(request, checked)}</div>
<aside class="stack" aria-label="${text.checkpoint}">${checkpointPanel(request, checked)}${meaningPanel(request, checked)}</aside></div></div>`;
  return {
    status: 200,
    body: shellPage(services, request, {
      title: fillPlain(text.verifyTitle, { last: card.lastCharacters }),
      heading,
      path: '/cards',
      actions: markup`<button class="button" type="button" data-print hidden>${text.print}</button>`,
      body,
    }),
  };
}

function isIntact({ entries, isEnd, proven }: Checked): boolean {
  return (
    isEnd !== false && proven?.isValid !== false && entries.every(({ problems }) => problems.length === 0)
  );
}

function number(value: number, { language }: StaffRequest): string {
  return new Intl.NumberFormat(language).format(value);
}

function verdict(request: StaffRequest, checked: Checked): Markup {
  const { language } = request;
  const text = cardTexts[language];
  const { card, entries, length, before, isEnd } = checked;
  if (!isIntact(checked)) {
    const end = isEnd === false ? markup` ${text.wrongEnd}` : undefined;
    const checkpoint = checked.proven?.isValid === false ? markup` ${text.checkpointWrong}` : undefined;
    return markup`<p class="notice" role="alert"><span>${text.notVerified}${end}${checkpoint}</span></p>`;
  }
  const count = number(length, request);
  const sentence =
    before === 0 && isEnd === true
      ? plural(language, text.verified, length, { balance: amountText(card.balance, language) })
      : fillPlain(text.verifiedPart, {
          from: number(before + 1, request),
          to: number(before + entries.length, request),
          count,
        });
  return markup`<p class="notice good" role="status"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="m4 12.500 5 5L20 6.500"/></svg><span>${sentence}</span></p>`;
}

function chainPanel(request: StaffRequest, { entries, before, length, path }: Checked): Markup {
  const text = cardTexts[request.language];
  const link = (after: number, name: string): Markup =>
    markup`<a class="button" href="${path}/verify?after=${after}">${name}</a>`;
  const earlier = before > 0 ? link(Math.max(0, before - checkedMax), text.earlier) : undefined;
  const end = before + entries.length;
  const later = end < length && entries.length > 0 ? link(end, text.later) : undefined;
  const pages = earlier || later ? markup`<p class="row">${later}${earlier}</p>` : undefined;
  return markup`<section class="panel stack"><div class="row apart"><h2>${text.chain}</h2><span class="small soft">${text.chainText}</span></div><ol class="timeline">
${entries.map((entry) => entryLine(request, entry))}</ol>${pages}</section>`;
}

function entryLine(
  { language, signedIn: { store } }: StaffRequest,
  { transfer, hash, problems }: CheckedEntry,
): Markup {
  const text = cardTexts[language];
  const result =
    problems.length === 0
      ? markup`<span class="good-text">✓ ${text.isRight}</span>`
      : markup`<strong class="error">${problems.map((problem) => text.problems[problem]).join(', ')}</strong>`;
  const details = [transfer.reference, transfer.note].filter((part) => part !== null).join(' · ');
  const shownHash = Buffer.from(hash).toString('hex').slice(0, 8);
  return markup`<li class="${problems.length === 0 ? 'money' : 'fail'}"><div><strong>${movementName(transfer, language)}</strong> <span class="soft">${details}</span></div><span class="sum">${signedAmount(transfer, language)}</span><span class="soft">${timeElement(transfer.createdAt, store, language)} · <span class="mono">${shownHash}</span> · ${result}</span><span class="sum soft"><span class="sr">${text.balanceAfter} </span>${amountText(transfer.balanceAfter, language)}</span></li>
`;
}

function checkpointPanel(request: StaffRequest, { proven }: Checked): Markup {
  const { language, signedIn } = request;
  const text = cardTexts[language];
  if (!proven)
    return markup`<section class="panel"><h2>${text.checkpoint}</h2><p class="soft">${text.noCheckpoint}</p></section>`;
  const { checkpoint, hashes, sequence } = proven;
  const root = Buffer.from(checkpoint.root).toString('hex').slice(0, 32);
  const covers = fillPlain(text.coversText, { count: number(checkpoint.size, request) });
  const way = fillPlain(text.pathText, { count: hashes, sequence: number(sequence, request) });
  return markup`<section class="panel"><h2>${text.checkpoint}</h2><dl class="facts"><dt>${text.signed}</dt><dd>${timeElement(checkpoint.createdAt, signedIn.store, language)}, Ed25519</dd><dt>${text.covers}</dt><dd>${covers}</dd><dt>${text.path}</dt><dd>${way}</dd><dt>${text.root}</dt><dd class="mono">${root}…</dd></dl></section>`;
}

function meaningPanel(request: StaffRequest, checked: Checked): Markup | undefined {
  if (!isIntact(checked)) return undefined;
  const { language, signedIn } = request;
  const text = cardTexts[language];
  const { proven } = checked;
  const signed =
    proven &&
    markup`<li class="done"><span>${fill(text.meaningCheckpoint, { time: timeElement(proven.checkpoint.createdAt, signedIn.store, language) })}</span></li>`;
  return markup`<section class="panel stack"><h2>${text.meaning}</h2><ol class="steps"><li class="done"><span>${text.meaningChain}</span></li>${signed ?? undefined}</ol><p class="small soft">${text.meaningLimits}</p></section>`;
}
