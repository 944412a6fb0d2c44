/** What error responses look like. */

import Type from 'typebox';

export const problemSchema = Type.Object(
  {
    type: Type.String({
      format: 'uri-reference',
      description: 'Ends in the problem’s stable code, and leads to its explanation.',
    }),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String(),
    errors: Type.Union(
      [Type.String(), Type.Record(Type.String(), Type.Array(Type.String(), { minItems: 1 }))],
      {
        description:
          'For a refused parameter: its name and messages, each of which reads after the name. Otherwise the title.',
      },
    ),
    available: Type.Optional(Type.String({ description: 'With `insufficient-balance`: what may be spent.' })),
    held: Type.Optional(Type.String({ description: 'With `capture-exceeds-hold`: what the hold reserves.' })),
    reversible: Type.Optional(
      Type.String({ description: 'With `reversal-exceeds-transaction`: what may still be given back.' }),
    ),
    request_id: Type.String({ description: 'As in X-Request-Id: what to look for in the log.' }),
  },
  { additionalProperties: false, description: 'A refusal or failure (RFC 9457).' },
);
