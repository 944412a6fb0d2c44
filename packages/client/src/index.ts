/** The client library of Largesse, a gift card service. */

export { addAmounts, smallerAmount, subtractAmounts } from './amounts.ts';
export { createClient, responseOf, type Largesse, type ResponseInformation } from './client.ts';
export { ApiError, ConnectionError, LargesseError, WebhookError } from './errors.ts';
export type { EventStream, StreamOptions } from './event-stream.ts';
export type { List } from './list.ts';
export type {
  ClientOptions,
  ConditionalWriteOptions,
  RequestOptions,
  RetryOptions,
  WriteOptions,
} from './options.ts';
export type * from './generated/resources.ts';
export type * from './generated/types.ts';
export { verifyWebhook, type ReceivedWebhook } from './webhooks.ts';
