import type { Feature } from '../../feature.ts';
import { addWebhookCommands } from './cli/webhook.ts';

export const webhooksFeature: Feature = {
  name: 'webhooks',
  addCommands: addWebhookCommands,
};
