/** Every error of a handler as a fault. */

import type { FastifyRequest } from 'fastify';
import { Fault, type FaultCode } from '../domain/fault.ts';

/** The fault codes of Fastify's errors; its other 4xx errors are malformed requests. */
const frameworkFaults: Readonly<Record<string, FaultCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large',
};

/** The fault of an error. Its cause is logged in full, and is not part of the response. */
export function loggedFault(request: FastifyRequest, error: unknown): Fault {
  const fault = faultOf(error);
  if (fault.cause !== undefined) request.log.error({ request_id: request.id, err: fault.cause }, fault.code);
  return fault;
}

function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  if (error instanceof Error && 'code' in error && 'statusCode' in error) {
    const code = frameworkFaults[String(error.code)];
    if (code) return new Fault(code);
    if (Number(error.statusCode) < 500) return new Fault('invalid-request');
  }
  return new Fault('internal-error', { cause: error });
}
