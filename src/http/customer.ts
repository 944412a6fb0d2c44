/** Customers over HTTP: their ids on the storefront. */

import Type from 'typebox';
import { customerRecordOf, type CustomerAccount } from '../domain/customer.ts';
import { Refusals } from '../domain/fault.ts';
import { accepted } from '../domain/parsed.ts';
import { linkCustomer, showCustomer } from '../service/customer.ts';
import type { Answer } from '../service/idempotency.ts';
import type { Exchange } from './exchange.ts';
import { jsonHeaders } from './history.ts';
import { readBody } from './money.ts';
import * as parameters from './parameters.ts';
import type { Parameter } from './parameters.ts';
import { idOf } from './reading.ts';

/** A field that cannot be set. Its value is compared with the present one, once the customer is known. */
const echo: Parameter<unknown, false> = {
  schema: Type.Unknown(),
  isRequired: false,
  fromForm: (text) => text,
  read: accepted,
};

const idEcho: Parameter<unknown, false> = {
  ...echo,
  read: (value, { isForm }) =>
    accepted(isForm && typeof value === 'string' ? parameters.integerFromForm(value) : value),
};

/** `GET /customers/{customer_id}` */
export async function getCustomer(exchange: Exchange): Promise<Answer> {
  const { storage, caller } = exchange;
  const customerId = idOf(exchange, 'customer_id');
  return shown(exchange, await storage.read(() => showCustomer(caller.store.id, customerId)));
}

/** `PUT /customers/{customer_id}` */
export async function putCustomer(exchange: Exchange): Promise<Answer> {
  const { ctx, caller } = exchange;
  const { body, values } = readBody(exchange, 'customer', {
    storefront_customer_id: parameters.storefrontCustomerId,
    id: idEcho,
    email: echo,
    created_at: echo,
  });
  return exchange.write(body, function* () {
    const storeId = caller.store.id;
    const customer = yield* showCustomer(storeId, idOf(exchange, 'customer_id'));
    const { storefront_customer_id: linked = customer.storefrontCustomerId, ...echoed } = values();
    refuseChanges(echoed, customerRecordOf(ctx.keys.publicIds, customer));
    return shown(exchange, yield* linkCustomer(storeId, customer, linked));
  });
}

/** @throws Fault `invalid-parameter` if a field that cannot be set was sent with another value. */
function refuseChanges(
  echoed: Readonly<Record<string, unknown>>,
  present: Readonly<Record<string, unknown>>,
): void {
  const refusals = new Refusals();
  for (const [name, sent] of Object.entries(echoed)) {
    if (sent !== present[name]) refusals.add(name, 'cannot be changed');
  }
  refusals.throwIfAny();
}

function shown({ ctx }: Exchange, customer: CustomerAccount): Answer {
  return {
    status: 200,
    headers: jsonHeaders,
    body: JSON.stringify({ customer: customerRecordOf(ctx.keys.publicIds, customer) }),
  };
}
