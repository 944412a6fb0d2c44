/** Every error of a handler as a fault. */

import type { FastifyRequest } from 'fastify';
import { Fault, type FaultCode } from '../core/domain/fault.ts';
import { problems } from './problem.ts';

/** The fault codes of Fastify's errors; its other 4xx errors are malformed requests. */
const frameworkFaults: Readonly<Record<string, FaultCode>> = { FST_ERR_CTP_BODY_TOO_LARGE: 'body-too-large' };

/**
 * The fault of an error. Its cause is logged in full, and is not part of the response. An error of the client is not one of
 * the service, so the operator does not see it as one: any stranger can cause it.
 */
export function loggedFault(request: FastifyRequest, error: unknown): Fault {
  const fault = faultOf(error);
  if (fault.cause === undefined) return fault;
  const level = problems[fault.code].status >= 500 ? 'error' : 'debug';
  request.log[level]({ request_id: request.id, err: fault.cause }, fault.code);
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
