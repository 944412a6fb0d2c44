/** The page of a sandbox in the place of a payment provider's: a tester decides what happens to a payment. */

import { checkoutTool } from '../tools.ts';
import { Fault } from '../../../../core/domain/fault.ts';
import type { Payment } from '../../domain/payment.ts';
import {
  paymentOfSandbox,
  sandboxActions,
  sandboxMethods,
  sandboxPagePath,
  type SandboxAction,
  type SandboxMethod,
  type SandboxPayment,
} from '../../domain/sandbox-payment.ts';
import { markup, type Markup } from '../../../../platform/markup.ts';
import {
  actOnSandboxPayment,
  openSandboxPayment,
  type OpenSandboxPayment,
} from '../../service/sandbox-payment.ts';
import { hidden } from '../../../../pages/kit/form.ts';
import { gatePage } from '../../../../pages/kit/page.ts';
import { openRoute, type VisitorPage } from '../../../../pages/kit/page-context.ts';
import { facts, tag } from '../../../../pages/kit/parts.ts';
import { seeOther, type ConsoleResponse, type ConsoleRoute } from '../../../../pages/kit/route.ts';

/** The methods for which a tester pays at once. */
const methods = ['card', 'foreign', 'risky'] as const satisfies readonly SandboxMethod[];

/** The actions after which the page of a provider leads back to the shop. */
const leading: ReadonlySet<SandboxAction> = new Set(['pay', 'pay-later', 'decline', 'cancel']);

const destructive: ReadonlySet<SandboxAction> = new Set([
  'decline',
  'fail',
  'dispute',
  'lose',
  'fail-refund',
]);

const tags = {
  open: 'wait',
  waiting: 'wait',
  paid: 'good',
  expired: 'ended',
  failed: 'bad',
} as const satisfies Readonly<Record<Payment['state'], string>>;

function actionForm(page: VisitorPage, id: string, action: SandboxAction): Markup {
  const text = page.text.sandboxPayment;
  const kind = destructive.has(action) ? 'danger' : '';
  const choice =
    action === 'pay'
      ? markup`<fieldset class="stack"><legend>${text.method}</legend>${methods.map(
          (method, place) =>
            markup`<label class="check"><input type="radio" name="method" value="${method}"${place === 0 ? markup` checked` : undefined}><span>${sandboxMethods[method].method}</span><span class="soft">${text.methods[method]}</span></label>`,
        )}</fieldset>`
      : undefined;
  return markup`<form class="stack" method="post" action="${page.url(sandboxPagePath(id))}">${hidden('action', action)}${choice}
<div><button class="button ${action === 'pay' ? 'first wide' : kind}">${text.actions[action]}</button></div></form>`;
}

function paymentPage(page: VisitorPage, { store, payment, actions }: OpenSandboxPayment): ConsoleResponse {
  const text = page.text.sandboxPayment;
  const read = paymentOfSandbox(payment, store.currency);
  const { amount, state, method, refunds, dispute } = read;
  const shown = (minor: bigint): string => page.amount({ minor, currency: store.currency });
  const rows = {
    [text.amount]: markup`<strong>${shown(amount.minor)}</strong>`,
    [text.purpose]: payment.description,
    [text.state]: tag(tags[state], text.states[state]),
    ...(method !== null && { [text.method]: markup`<span dir="ltr">${method}</span>` }),
    ...(dispute && { [text.dispute]: text.disputes[dispute.state] }),
    ...(refunds.length > 0 && {
      [text.refunds]: refunds
        .map((refund) => `${shown(refund.amount.minor)} (${text.refundStates[refund.state]})`)
        .join(', '),
    }),
  };
  const back =
    state === 'open'
      ? undefined
      : markup`<div class="row">${page.link(pathIn(page, payment.returnUrl), text.back, 'quiet')}</div>`;
  const body = markup`<p class="notice" role="note">${text.lead}</p>
<section class="panel stack">${facts(rows)}
${actions.map((action) => actionForm(page, payment.id, action))}</section>${back}`;
  return {
    status: 200,
    body: gatePage(page.services, page.request, { title: text.title, place: store.name, body }),
  };
}

/** The path of one of this service's own URLs, below the base path. */
function pathIn(page: VisitorPage, url: string): string {
  const { pathname, search } = new URL(url);
  return `${pathname.slice(page.basePath.length)}${search}`;
}

/** @throws Fault `not-found`. */
async function paymentIn(page: VisitorPage): Promise<OpenSandboxPayment> {
  const found = await page.read(() => openSandboxPayment(page.ctx, page.param('session')));
  if (!found) throw new Fault('not-found');
  return found;
}

/** Notifies the service as a provider does, and reads the payment at once, because it is in this database. */
async function notify({ services: { tools, ctx } }: VisitorPage, { storeId, id }: SandboxPayment) {
  const onlineSales = tools.of(checkoutTool);
  const hint = { headers: {}, body: Buffer.from(id), now: ctx.wallClock.now() };
  if (!onlineSales) return;
  for (const key of await onlineSales.receiveHint({ storeId, kind: 'sandbox', ...hint })) {
    await onlineSales.refresh(key);
    await onlineSales.sendRefunds(key);
  }
}

async function act(page: VisitorPage): Promise<ConsoleResponse> {
  const action = sandboxActions.find((each) => each === page.typed('action'));
  const method = methods.find((each) => each === page.typed('method')) ?? 'card';
  if (!action) return paymentPage(page, await paymentIn(page));
  const acted = await page.write(() =>
    actOnSandboxPayment(page.ctx, page.param('session'), { action, method }),
  );
  if (!acted) throw new Fault('not-found');
  await notify(page, acted);
  if (!leading.has(action)) return seeOther(sandboxPagePath(acted.id));
  return seeOther(pathIn(page, action === 'cancel' ? acted.cancelUrl : acted.returnUrl));
}

const path = sandboxPagePath(':session');

export const sandboxPaymentRoutes: readonly ConsoleRoute[] = [
  openRoute('GET', path, async (page) => paymentPage(page, await paymentIn(page))),
  openRoute('POST', path, act),
];
