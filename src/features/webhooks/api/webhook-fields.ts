/** The fields of a webhook in requests. */

import Type from 'typebox';
import { eventTypes } from '../../../core/events/domain/event-type.ts';
import { accepted, rejected } from '../../../platform/parsed.ts';
import { eventPatterns, parsePatterns } from '../domain/webhook.ts';
import { field, required } from '../../../api/field.ts';

const urlLengthMax = 2_048;

export const webhookUrl = required(
  field<string>(
    Type.String({
      maxLength: urlLengthMax,
      pattern: '^[hH][tT][tT][pP][sS]?://',
      description:
        'The URL that events are posted to: https, on a host on the public internet. Development mode also accepts http and https URLs on this machine, until the database has a real store.',
      examples: ['https://shop.example.com/webhooks/gift-cards'],
    }),
    (value, { parseWebhookUrl = accepted }) => {
      if (typeof value !== 'string') return rejected('must be a string');
      if (value.length > urlLengthMax) return rejected('must have at most 2,048 characters');
      if (!/^https?:\/\//i.test(value)) return rejected('must be a URL that starts with https://');
      return parseWebhookUrl(value);
    },
  ),
);

const knownPatterns = eventPatterns(eventTypes);

export const webhookEvents = required(
  field<readonly string[]>(
    Type.Array(Type.Enum([...knownPatterns]), {
      minItems: 1,
      description:
        'The events that are sent: types (`gift_card.redeemed`), all of a group (`gift_card.*`), or all (`*`). In a form, separated by commas.',
      examples: [['gift_card.*']],
    }),
    (value) =>
      Array.isArray(value) ? parsePatterns(value, knownPatterns) : rejected('must be a list of event types'),
    (list) => list.split(',').map((pattern) => pattern.trim()),
  ),
);
