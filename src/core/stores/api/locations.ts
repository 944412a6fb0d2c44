/** The locations of a store. */

import Type from 'typebox';
import { locationSchema } from '../../cards/domain/schemas.ts';
import {
  locationAddressLengthMax,
  locationNameLengthMax,
  locationRecordOf,
  locationZoneLengthMax,
  parseLocationAddress,
  parseLocationName,
  parseLocationZone,
} from '../domain/location.ts';
import { sentLineLengthMax } from '../../domain/text.ts';
import * as service from '../service/location.ts';
import * as examples from '../../../api/examples.ts';
import { field, optional, required } from '../../../api/field.ts';
import { closed } from '../../cards/api/fields.ts';
import { list, recordsOf } from '../../../api/list.ts';
import { read, write } from '../../../api/operation.ts';

export const locationFields = {
  name: required(
    field<string>(
      Type.String({
        minLength: 1,
        maxLength: sentLineLengthMax(locationNameLengthMax),
        description: 'The name, on one line of at most 100 characters.',
        examples: ['Market Street'],
      }),
      parseLocationName,
    ),
  ),
  address: field<string | null>(
    Type.Union([Type.String({ maxLength: locationAddressLengthMax }), Type.Null()], {
      description: 'The address, as receipts show it; at most 500 characters.',
      examples: ['12 Market Street\nSpringfield'],
    }),
    parseLocationAddress,
  ),
  time_zone: field<string | null>(
    Type.Union([Type.String({ maxLength: locationZoneLengthMax }), Type.Null()], {
      description:
        'The time zone of its receipts, as an IANA name; null: the store’s. The days of reports are the store’s.',
      examples: ['Europe/Paris'],
    }),
    parseLocationZone,
  ),
};

const oneLocation = {
  description: 'The location.',
  members: { location: locationSchema },
  example: { location: examples.location },
} as const;

export const createLocation = write({
  id: 'createLocation',
  method: 'POST',
  path: '/locations',
  scopes: ['write_gift_cards'],
  tag: 'Locations',
  summary: 'Create a location',
  description:
    'Creates a shop of the store, of which it has at most 1,000. An access token or a till can belong to a location; movements of other callers can name one as `location_id`. Reports split movements by it.',
  body: {
    name: 'CreateLocation',
    wrapper: 'location',
    fields: locationFields,
    example: { name: 'Market Street', address: '12 Market Street\nSpringfield' },
  },
  response: { ...oneLocation, status: 201 },
  errors: [],
  *run({ ctx, store, body }) {
    const { name, address = null, time_zone: timeZone = null } = body;
    const location = yield* service.addLocation(ctx, store.id, { name, address, timeZone });
    return { body: { location: locationRecordOf(location) } };
  },
});

export const listLocations = list({
  id: 'listLocations',
  path: '/locations',
  scopes: ['read_gift_cards'],
  tag: 'Locations',
  summary: 'List locations',
  description:
    'Returns the store’s locations, also closed ones, newest first. `Link` has the neighboring pages.',
  member: 'locations',
  record: locationSchema,
  example: examples.location,
  responseDescription: 'A page of locations.',
  cursor: { isPublic: false, of: ({ id }) => id },
  errors: [],
  *page({ store }, page) {
    return recordsOf(yield* service.pageOfLocations(store.id, page), locationRecordOf);
  },
});

export const retrieveLocation = read({
  id: 'retrieveLocation',
  path: '/locations/:location_id',
  scopes: ['read_gift_cards'],
  tag: 'Locations',
  summary: 'Retrieve a location',
  description: 'Returns a location of the store, also a closed one.',
  response: oneLocation,
  errors: ['not-found'],
  *run({ store, ids }) {
    return {
      body: { location: locationRecordOf(yield* service.requireLocation(store.id, ids.location_id)) },
    };
  },
});

export const updateLocation = write({
  id: 'updateLocation',
  method: 'PUT',
  path: '/locations/:location_id',
  scopes: ['write_gift_cards'],
  tag: 'Locations',
  summary: 'Update a location',
  description:
    'Absent fields keep their values. A closed location accepts no new movements: a request that names it, and any movement of an access token or a till that belongs to it, is rejected. It is never deleted, because entries of the ledger have it.',
  body: {
    name: 'UpdateLocation',
    wrapper: 'location',
    fields: { ...locationFields, name: optional(locationFields.name), closed },
    example: { closed: true },
  },
  response: { ...oneLocation, status: 200 },
  errors: ['not-found'],
  *run({ ctx, store, ids, body }) {
    const { name, address, time_zone: timeZone, closed: isClosed } = body;
    const location = yield* service.changeLocation(
      ctx,
      { storeId: store.id, id: ids.location_id },
      {
        ...(name !== undefined && { name }),
        ...(address !== undefined && { address }),
        ...(timeZone !== undefined && { timeZone }),
        ...(isClosed !== undefined && { isClosed }),
      },
    );
    return { body: { location: locationRecordOf(location) } };
  },
});
