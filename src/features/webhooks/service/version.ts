/** Versions of webhooks as texts. */

import { stateTagOf } from '../../../core/cards/service/version.ts';
import type { Webhook } from '../domain/webhook.ts';

export function webhookVersionTagOf(webhook: Webhook): string {
  const { url, patterns, paused, failing, previousSecretUntil, version } = webhook;
  return stateTagOf([url, patterns, paused, failing, previousSecretUntil], version);
}
