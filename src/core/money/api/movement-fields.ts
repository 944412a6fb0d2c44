/** The query fields of lists of a store's transactions and holds. */

import Type from 'typebox';
import { externalIdLengthMax, externalIdPattern, parseExternalId } from '../../domain/external-id.ts';
import { parseText, referenceLengthMax } from '../../domain/text.ts';
import { accepted, rejected } from '../../../platform/parsed.ts';
import { cursor } from '../../../api/cursor.ts';
import { field } from '../../../api/field.ts';
import { limit } from '../../../api/list.ts';
import { idFilter, locationFilter, timeField } from '../../cards/api/list-fields.ts';

function textFilter(description: string, example: string) {
  return field<string>(
    Type.String({ minLength: 1, maxLength: referenceLengthMax, description, examples: [example] }),
    (value) => {
      const parsed = parseText(value, referenceLengthMax);
      if (!parsed.ok) return parsed;
      return parsed.value === null ? rejected('must not be empty') : accepted(parsed.value);
    },
  );
}

/** The filters and the page of a list. */
export const movementFilters = {
  reference: textFilter('Only those with this reference.', 'receipt-1017'),
  order_reference: textFilter('Only those of this order, as text.', 'B-1017'),
  external_id: field<string>(
    Type.String({
      minLength: 1,
      maxLength: externalIdLengthMax,
      pattern: externalIdPattern,
      description: 'Only those with this external id.',
      examples: ['pay_31f9'],
    }),
    (value) => {
      const parsed = parseExternalId(value);
      if (!parsed.ok) return parsed;
      return parsed.value === null ? rejected('must not be empty') : accepted(parsed.value);
    },
  ),
  order_id: idFilter('Only those of this order.'),
  location_id: locationFilter('Only those at this location'),
  actor: textFilter('Only those of this caller.', 'api_client:7103421182'),
  created_at_min: timeField('Only those that were created', false),
  created_at_max: timeField('Only those that were created', true),
  limit,
  cursor,
};
