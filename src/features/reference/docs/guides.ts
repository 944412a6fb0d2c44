/** The guides of the API reference, in the Markdown of `content.ts`. The OpenAPI document contains them too. */

import { limitDefault } from '../../../api/list.ts';
import { holdLimitDefaultDays, holdLimitMaxDays } from '../../../core/money/domain/hold.ts';
import { programCommand } from '../../../platform/program-files.ts';
import { formValues } from './texts.ts';

/** The default of `VISITOR_LOOKUP_MISSES`. */
const visitorFailures = 20;

export type Guide = {
  readonly name: string;
  readonly title: string;
  /** One line for `llms.txt`. */
  readonly note: string;
  readonly text: string;
};

/** Verifies a webhook. A test runs it. */
export const verification = `
import { createHmac, timingSafeEqual } from 'node:crypto';

function isGenuine(secret, headers, body, unixTime) {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': list } = headers;
  if (!(Math.abs(unixTime - Number(time)) < 300)) return false;
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const expected = createHmac('sha256', key).update(\`\${id}.\${time}.\${body}\`).digest();
  return list.split(' ').some((entry) => {
    const sent = Buffer.from(entry.slice('v1,'.length), 'base64');
    return sent.length === expected.length && timingSafeEqual(sent, expected);
  });
}
`.trim();

export const guides: readonly Guide[] = [
  {
    name: 'authentication',
    title: 'Authentication',
    note: 'Access tokens, scopes, the signature of an app proxy, and development mode',
    text: `
Every request needs an access token of the store, in one of three headers. The same token in two headers is one credential; two different tokens are rejected.

- \`Authorization: Bearer lgs_…\`
- \`X-Access-Token: lgs_…\`
- \`x-gcf-access-token: lgs_…\`, as existing clients of this API send it

A token belongs to one store. It is shown once, when it is created with \`${programCommand} token create\`, and stored only as a hash. It can be rotated and revoked, and it can expire. Tokens of a [sandbox](sandbox) begin with \`lgx_\`. The server returns no CORS headers, because a token does not belong in a browser.

With the header \`Largesse-Agent: mcp\`, entries of cards have the actor \`mcp:<api client>\` instead of \`api_client:<api client>\`. \`largesse mcp\` sends it for agents; other values are ignored.

## App proxy

A store can have a secret that it shares with its storefront’s app proxy. The proxy adds \`shop\`, \`logged_in_customer_id\`, \`path_prefix\`, \`timestamp\` and \`signature\` to the query of each request that it forwards. The signature is the HMAC-SHA-256 with the secret, in lower-case hex, of all other query parameters: decoded, sorted by name, as \`name=value\` without separators. \`timestamp\` can differ by at most 90 seconds.

A signature proves the route of a request, not its sender: a token is also required, except for a signed-in customer’s own [search](search-gift-card) if the store allows it. A signature that is sent must be valid, and its store must be the token’s.

## Development mode

\`npm start\` without configuration serves a demonstration store to this machine and accepts requests without a token. Development mode ends when the database contains a real store.`,
  },
  {
    name: 'requests',
    title: 'Requests and responses',
    note: 'Bodies, JSON types, forms, amounts, dates, ids and headers',
    text: `
Bodies are \`application/json\` or \`application/x-www-form-urlencoded\`, at most 64 KiB (of a batch or a stock: at most 4 MiB), either bare (\`{"initial_value": 25}\`) or wrapped (\`{"gift_card": {"initial_value": 25}}\`, \`gift_card[initial_value]=25\`), never both.

- JSON takes JSON types: booleans and integers are not accepted as strings. Only amounts are numbers or decimal strings.
- ${formValues}
- A request without a body, or with an empty body, has no parameters, whatever its content type.
- An unknown parameter is rejected, and the rest of the request is not applied.
- Every query accepts the parameters of a storefront’s [app proxy](authentication#app-proxy): \`shop\`, \`logged_in_customer_id\`, \`path_prefix\`, \`timestamp\` and \`signature\`. Any other unknown parameter, and any repeated one, is rejected.
- \`HEAD\` responds like \`GET\` without the body. \`OPTIONS\` returns 204 with \`Allow\`.

## Amounts

An amount in a request is a JSON number or a string in plain decimal notation: \`15\`, \`"15.0"\` and \`"15.00"\` are the same amount. It has no more decimals than the currency, because amounts are never rounded. The server rejects \`"1e3"\`, \`"+5"\`, \`" 5"\`, \`"1,00"\` and \`".5"\`.

An amount in a response is a string with exactly the currency’s decimals: \`"15.00"\` in USD, \`"15"\` in JPY, \`"15.000"\` in KWD.

## Records

Every successful response of the first four operations is \`{"gift_card": {…}}\`; the other operations name their [records](objects). Every field is always present, and \`null\` if it has no value. Ids are integers below 2^53; the ids of gift cards, customers, holds and transactions reveal neither time nor number. Times are UTC in whole seconds: \`2026-08-15T12:37:38Z\`.

## Request ids

Every response has \`X-Request-Id\`: the client’s own, if it sends a valid one. The service logs it, and errors contain it as \`request_id\`.`,
  },
  {
    name: 'errors',
    title: 'Errors',
    note: 'The format of errors, when to retry, and every error code',
    text: `
Every error is \`application/problem+json\` (RFC 9457) with \`type\`, \`title\`, \`status\`, \`detail\`, \`errors\` and \`request_id\`. \`type\` is a path that ends in a stable code and leads to the explanation of the code on this page. Programs compare the code, not the texts.

\`errors\` is the title, or for invalid parameters an object of their names and messages. All invalid parameters of a request are reported together. A rejection that depends on an amount returns that amount as \`available\`, \`held\` or \`reversible\`.

## Retries

After a 5xx or a broken connection the outcome is unknown: send the same request with the same [\`Idempotency-Key\`](idempotency) again. \`Retry-After\` says how many seconds to wait.

A response that is sent before the request’s body has been read closes the connection. The server responds to \`Expect: 100-continue\` after it has accepted the credential and the announced size of the body.`,
  },
  {
    name: 'idempotency',
    title: 'Idempotency',
    note: 'Retry a write safely with an Idempotency-Key',
    text: `
A write with an \`Idempotency-Key\` (1 to 255 visible ASCII characters) is applied only once. Its response is stored encrypted for 24 hours, including an error with 404, 412 or 422, and replayed byte for byte with \`Idempotent-Replayed: true\`. The replay of a creation contains the code of the card.

- Another request with the same key is rejected with [\`idempotency-key-reused\`](errors#idempotency-key-reused). \`If-Match\` is part of the request that a key identifies.
- While the first request is in progress, the server responds with [\`idempotency-key-in-use\`](errors#idempotency-key-in-use).
- Keys belong to the API client of the token, and survive the rotation of the token.`,
  },
  {
    name: 'external-ids',
    title: 'External ids',
    note: 'Your own ids, each of which is used only once, for ever',
    text: `
Responses to idempotency keys are stored for 24 hours. Webhooks are repeated for days, and orders are completed after weeks: send your own id of the payment or order as \`external_id\` (1 to 255 visible ASCII characters) with a creation, debit, credit, redemption, hold, capture or reversal. It is unique for ever in the store among cards, among transactions and among holds.

- A repetition by the same API client that asks for the same responds 200 with the existing object as it is now, even if the card has expired, was disabled or erased since. It never has the card’s \`code\`: send the same \`Idempotency-Key\` within 24 hours, or [rotate the code](rotate-gift-card-code) later.
- What is compared: the card, the kind of movement, the amount or its absence, \`partial\`, the hold and the reversed transaction; of a creation \`initial_value\`, \`expires_on\`, VAT and a chosen \`code\`. Names, addresses and texts are not compared. Any other request, and any request of another client, is rejected with [\`external-id-used\`](errors#external-id-used).
- Only a success uses an id. \`Idempotency-Key\` is checked first. In a batch, a used or repeated id is an error of its card.
- Paths accept \`/holds/external:{id}\` and \`/transactions/external:{id}\`, percent-encoded. A caller without \`read_gift_cards\` finds only what it has made; another id is a failed lookup.
- A void or reversal by an unused \`external:\` id responds 404 and uses the id up. If it overtakes its hold or debit, that request is rejected with [\`external-id-used\`](errors#external-id-used).`,
  },
  {
    name: 'conditional-requests',
    title: 'Conditional requests',
    note: 'ETag, If-None-Match and If-Match',
    text: `
An \`ETag\` names the version of a gift card or webhook and changes with every change. Its form can change, so clients must not parse it.

- \`If-None-Match\` with the current ETag returns 304 without a body, where an operation lists the header.
- \`If-Match\` applies a write only to the listed versions. If the record has changed since, the server responds with [\`precondition-failed\`](errors#precondition-failed) and changes nothing.

Movements of money need neither: they are checked against the balance at the time of the change.`,
  },
  {
    name: 'dry-runs',
    title: 'Dry runs',
    note: 'Test a write without changing anything',
    text: `
Every write accepts \`?dry_run=true\`: the response is the same, with \`Dry-Run: true\`, and nothing is changed, published or stored.`,
  },
  {
    name: 'pagination',
    title: 'Pagination',
    note: 'Pages of lists, and the Link header',
    text: `
Lists with pages return ${limitDefault} records, newest first; \`limit\` sets another number. \`before\` and \`after\` take the id of a record and cannot be combined.

\`Link\` (RFC 8288) has the URLs of the neighboring pages: \`next\` is older, \`previous\` newer. Clients follow it instead of building URLs.

[Events](list-events) are listed in the order in which they were committed, oldest first. Their \`next\` page is always present and returns later events.`,
  },
  {
    name: 'rate-limits',
    title: 'Rate limits',
    note: 'Limits on requests and on failed lookups',
    text: `
A token can send 500 requests per second with bursts of 1,000, unless the service sets another limit. \`RateLimit\` and \`RateLimit-Policy\` (IETF draft) describe the limit and what remains of it. Above the limit, the server responds with [\`too-many-requests\`](errors#too-many-requests) and \`Retry-After\`.

## Failed lookups

Searches, lookups by code and ids that find nothing are limited per caller: 1,000 per hour of a token, unless the store or the service sets another limit, and 10 per hour of a signed-in customer. The budget refills continuously; other callers are not affected.

While a budget is exhausted, the server returns what cannot be guessed if it exists: ids, \`external:\` paths, and codes that it generated itself. Everything else is rejected with [\`too-many-misses\`](errors#too-many-misses) and \`Retry-After\`, whether it exists or not: searches, codes that the store chose, unknown ids and codes. Captures, voids, extensions and reversals are never rejected by a budget; an unknown id is a 404.

## Visitors

A web shop looks up the codes of many people with one token. It names the person with the header \`Largesse-Visitor\`: 1 to 128 visible ASCII characters that stay the same for one person, such as a digest of the id of the signed-in customer or of the client’s address. The server stores only a keyed digest, and logs nothing of it. It is the shop’s server that sets the header; it must not accept it from a browser. In requests of signed-in customers without a token it has no effect.

- Failed lookups then count for this visitor (${visitorFailures} an hour, unless the service sets another limit, and never more than the token), and for all visitors of the token together, who have the limit of the token. They do not count for the token itself.
- While the budget of all visitors is exhausted, a code that the store chose is served only with the \`email\` of the card’s customer or recipient, a parameter of [lookups](look-up-gift-card) and [redemptions by code](redeem-gift-card). A wrong address counts for the visitor.
- Without the header, failed lookups count for the token.

## Codes that a request checks

Each \`code\` in a creation, a batch or a dry run reserves a lookup, because the response says whether the store has used the code. A taken code is a failed lookup; the lookups of codes that were free, or were activated, are given back. A batch with more codes than lookups are left is rejected with [\`too-many-misses\`](errors#too-many-misses) before the server looks for any of them, and one with more codes than the whole budget with a 422 on \`cards\`, or on \`codes\` of a stock; \`largesse card import\` and \`largesse stock\` have no such limit. A wrong \`code\` in an update is a failed lookup. A response that is replayed under its \`Idempotency-Key\` is not counted again.`,
  },
  {
    name: 'spend',
    title: 'Spend a gift card',
    note: 'Debits, holds and reversals for tills and checkouts',
    text: `
[Updating](update-gift-card) a card sets its balance. Tills and checkouts that share a card use movements, which never overspend and are safe to retry.

- A till [redeems by code](redeem-gift-card), or [debits](debit-gift-card) a card whose id it knows. With \`partial\`, it debits the available amount if that is less.
- A checkout [holds](create-hold) an amount, for 15 minutes by default and at most the store’s limit (${holdLimitDefaultDays} days by default, up to ${holdLimitMaxDays}), [extends](extend-hold) it while the payment takes longer, then [captures](capture-hold) it in whole or in part, or [voids](void-hold) it. Other callers can spend only \`available\`: the balance minus open holds.
- A return [reverses](reverse-transaction) the transaction in whole or in part.

Each change of the balance is one [transaction](objects#transaction) in the ledger, with the caller’s \`reference\`.`,
  },
  {
    name: 'events',
    title: 'Events',
    note: 'Follow changes by webhook, by polling or as a stream',
    text: `
Every change of a gift card is an [event](objects#event), which is written in the same transaction. Events contain the record as it was at that time, and never a code. There are three ways to receive them:

- [Webhooks](webhooks) receive each event as a POST.
- \`GET /events?after=<event id>\` [lists](list-events) the events after that one. \`after=latest\` starts at the end.
- \`GET /events/stream\` [streams](stream-events) events as they happen and resumes with \`Last-Event-ID\`.

## Order

\`sequence\` is the version of the card after the event: of two events of one card the one with the higher sequence is the later one, and a missing number is a missed event. Events of one change have the same sequence; an event that changes nothing (an expiry) has the sequence of the previous change; events without a card have 0.`,
  },
  {
    name: 'webhooks',
    title: 'Webhooks',
    note: 'Receive events, and verify their signatures',
    text: `
A [webhook](create-webhook) is a URL that receives events as \`POST\` requests with the event as JSON.

- Each event is posted at least once. A receiver ignores a \`webhook-id\` that it has already received.
- A receiver responds with 2xx within 10 seconds. Redirects are not followed.
- Events can arrive in another order: sort them by \`sequence\`.
- After a failure the server retries for 72 hours, at growing intervals or after \`Retry-After\`. A webhook that has only failed for that long is paused, and so is one that responds with 410.
- [Deliveries](list-deliveries) show each attempt, and an event can be [redelivered](redeliver-event).

## Verify a signature

Messages are signed by the [Standard Webhooks](https://www.standardwebhooks.com) scheme, which has libraries for many languages. \`webhook-signature\` is a list of \`v1,\` and the base64 of the HMAC-SHA-256 of \`<webhook-id>.<webhook-timestamp>.<body>\`, separated by spaces. The key is the base64 after \`whsec_\` in the secret. After a [rotation](rotate-webhook-secret) the list has one signature of each secret for 24 hours. The signature covers the exact bytes of the body, so verify before parsing, and reject messages that are older than some minutes.

\`\`\`js
${verification}
\`\`\``,
  },
  {
    name: 'client',
    title: 'Client for JavaScript',
    note: 'The package largesse-client: typed methods that retry safely',
    text: `
The package \`largesse-client\`, which \`npm pack\` makes from \`packages/client\` of a clone, has a typed method for each operation, which the operation’s page shows. It runs on Node.js, Bun, Deno and workers.

\`\`\`js
import { createClient } from 'largesse-client';

const largesse = createClient({ url: 'http://localhost:3000', token: process.env.TOKEN });
const { gift_card: card } = await largesse.cards.create({ initial_value: '25.00' });
\`\`\`

- A write that gets no response is sent again with the same \`Idempotency-Key\`, within limits of attempts and time.
- An error has the [code](errors), the messages of each parameter and the request id.
- \`visitor\`, of the client or of a request, [names the person](rate-limits#visitors) who typed a code in a shop.
- Lists are iterators over all pages. The stream of events continues after a broken connection.
- \`verifyWebhook\` returns the event of a webhook that is genuine.`,
  },
  {
    name: 'generate-a-client',
    title: 'Generate a client',
    note: 'Types and clients from the OpenAPI document',
    text: `
Generators make a client from the [OpenAPI document](/openapi.json). Two of them for TypeScript, at the root of a running service:

\`\`\`sh
npx openapi-typescript http://localhost:3000/openapi.json --output largesse.ts
npx @hey-api/openapi-ts --input http://localhost:3000/openapi.json --output largesse
\`\`\`

With the types of the first, \`openapi-fetch\` sends requests:

\`\`\`ts
const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\` } });
const { data, error } = await client.POST('/gift_card', { body: { initial_value: '25.00' } });
\`\`\`

The client of the second gets the token with \`auth: ({ scheme }) => (scheme === 'bearer' ? token : '')\`: with a text, it would also send the token as \`signature\`.

- Amounts are strings: a number of JavaScript is not exact.
- The type of an error is \`Problem\`; its \`type\` ends in the [code](errors).
- The type of the body of a [webhook](webhooks) is \`WebhookEvent\`, and its \`type\` selects one of the events.
- Some responses have a second form, such as CSV: the type is a union with a text.`,
  },
  {
    name: 'sandbox',
    title: 'Sandbox',
    note: 'A service to test with: fixed codes, and a clock that can be moved',
    text: `
\`${programCommand} sandbox\` starts a service whose gift cards have no value, and prints a token. Its tokens begin with \`lgx_\`: a live service rejects them, and a sandbox rejects those of a live service. Every response, webhook and email has the header \`Largesse-Sandbox: true\`. Emails are kept instead of sent.

If only programs on the same machine reach the sandbox, its pages here have a form below the samples, which sends the request with the token of the sandbox and shows the response.

[Advance the test clock](advance-test-clock) to see holds expire, emails and reminders come, and days close.

## Fixed codes

These codes make the operations that take a code respond in one way. On the pages for staff and for recipients they are cards with these states; the last two have no other effect there. No card of a live service has one of them.`,
  },
  {
    name: 'versions',
    title: 'Versions',
    note: 'What can change in the API, and what does not',
    text: `
The API has one version; its paths contain no number. The \`version\` of the [OpenAPI document](/openapi.json) is that of the service.

- The record and the meaning of the four operations on \`/gift_card\` and \`/gift_card/{gift_card_id}\` do not change.
- The other operations can gain fields, and the service can gain operations, event types and error codes. Clients ignore fields and event types that they do not know, and treat an unknown error code by its status.`,
  },
];
