/** Carries out the calls of an agent, through the client library. A write is carried out only with its confirmation. */

import { ApiError, responseOf, type Largesse } from '../../../../packages/client/src/index.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Random } from '../../../platform/random.ts';
import { openConfirmations, requestDigestOf } from './confirmations.ts';
import { isUndecided, problemOfRequest, shownTo, type ToolProblem } from './results.ts';
import { pageSize, type Tool } from './tools.ts';

type Arguments = Readonly<Record<string, unknown>>;

type CallResult =
  | { readonly isError: false; readonly content: Readonly<Record<string, unknown>> }
  | { readonly isError: true; readonly content: { readonly error: ToolProblem } };

export type Calls = {
  /** Carries out a call. @param sent is valid by the schema of the tool. It never rejects. */
  call(tool: Tool, sent: Arguments): Promise<CallResult>;
};

/** Calls at the same time. A host that sends more gets an error for each. */
const callsMax = 8;

/** The members of a method's last argument that a call sets. */
type SendOptions = {
  readonly dryRun?: boolean;
  readonly ifMatch?: string | undefined;
  readonly idempotencyKey?: string;
};

export function openCalls({
  client,
  clock,
  random,
}: {
  readonly client: Largesse;
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'bytes'>;
}): Calls {
  const confirmations = openConfirmations({ clock, random });
  let running = 0;

  async function carryOut(tool: Tool, sent: Arguments): Promise<CallResult> {
    if (!tool.isWrite) return success({ result: shownTo(await send(client, tool, sent)) });
    const { confirmation, ...request } = sent;
    assertEmailed(tool, request);
    if (typeof confirmation !== 'string') return await dryRun(tool, request, 'It is not confirmed.');
    const digest = requestDigestOf(tool.name, request);
    const pending = confirmations.take(confirmation, digest);
    if (!pending)
      return await dryRun(
        tool,
        request,
        'The confirmation is not of exactly this request, or has expired or been used.',
      );
    try {
      const result = await send(client, tool, request, {
        ifMatch: pending.version,
        // A repetition of a confirmed request never writes twice.
        idempotencyKey: `mcp-${confirmation}`,
      });
      return success({ carried_out: true, result: shownTo(result), ...emailStatusOf(result) });
    } catch (error) {
      if (error instanceof ApiError && error.status === 412)
        return await dryRun(tool, request, 'The gift card has changed since the dry run.');
      if (!isUndecided(error)) throw error;
      confirmations.putBack(confirmation, pending);
      return failure({
        ...problemOfRequest(error),
        outcome: 'unknown',
        advice: 'Repeat the call with the same arguments and confirmation: it is carried out at most once.',
      });
    }
  }

  async function dryRun(tool: Tool, request: Arguments, reason: string): Promise<CallResult> {
    const version = await versionOf(client, tool, request);
    const result = await send(client, tool, request, { dryRun: true, ifMatch: version });
    return success({
      carried_out: false,
      reason,
      dry_run: shownTo(result),
      confirmation: confirmations.issue(requestDigestOf(tool.name, request), version),
      confirmation_expires_in_seconds: confirmations.lifeSeconds,
    });
  }

  return {
    async call(tool, sent) {
      if (running >= callsMax)
        return failure({ code: 'too-many-calls', detail: `At most ${callsMax} calls run at the same time.` });
      running += 1;
      try {
        return await carryOut(tool, sent);
      } catch (error) {
        return failure(error instanceof InvalidCall ? error.problem : problemOfRequest(error));
      } finally {
        running -= 1;
      }
    },
  };
}

function success(content: Readonly<Record<string, unknown>>): CallResult {
  return { isError: false, content };
}

function failure(error: ToolProblem): CallResult {
  return { isError: true, content: { error } };
}

class InvalidCall extends Error {
  readonly problem: ToolProblem;

  constructor(field: string, message: string) {
    super(`${field} ${message}`);
    this.problem = {
      code: 'invalid-parameter',
      detail: 'A parameter is not valid.',
      fields: { [field]: [message] },
    };
  }
}

/** The code of a card without an email address would be lost. @throws InvalidCall. */
function assertEmailed({ operation }: Tool, { email, recipient_email: recipient }: Arguments): void {
  if (operation === 'createGiftCard' && (email ?? null) === null && (recipient ?? null) === null)
    throw new InvalidCall('recipient_email', 'or email is required, because the code is only emailed');
}

/** The ETag of the card that a write changes; undefined: it creates one. */
async function versionOf(
  client: Largesse,
  { operation }: Tool,
  request: Arguments,
): Promise<string | undefined> {
  if (operation === 'createGiftCard') return undefined;
  const cardId =
    operation === 'reverseTransaction'
      ? (await client.transactions.retrieve(Number(request['transaction_id']))).transaction.gift_card_id
      : Number(request['gift_card_id']);
  return responseOf(await client.cards.retrieve(cardId)).etag ?? undefined;
}

/** Whether the service sends the email with the code; absent: it does, or there is none. */
function emailStatusOf(result: object): { readonly email_status?: string } {
  const status = responseOf(result).headers.get('email-status');
  return status === null ? {} : { email_status: status };
}

/** Calls the method of the client library that the tool's operation has. @throws ApiError, ConnectionError. */
async function send(
  client: Largesse,
  { method, ids, hasInput, hasLimit }: Tool,
  request: Arguments,
  options: SendOptions = {},
): Promise<object> {
  const [resource = '', member = ''] = method.split('.');
  const methods = client as unknown as Readonly<Record<string, Readonly<Record<string, Method>>>>;
  const found = methods[resource]?.[member];
  if (!found) throw new Error(`the client library has no method ${method}`);
  const input = Object.fromEntries(Object.entries(request).filter(([name]) => !ids.includes(name)));
  const limited = hasLimit ? { limit: pageSize.default, ...input } : input;
  return await found(...ids.map((name) => request[name]), ...(hasInput ? [limited] : []), options);
}

type Method = (...arguments_: readonly unknown[]) => Promise<object>;
