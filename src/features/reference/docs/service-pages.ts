/** The service's own pages in the documentation, and the schemas of what they return. */

import type { FaultCode } from '../../../core/domain/fault.ts';

type PageBody =
  /** JSON, with the name of its schema. */
  { readonly name: string; readonly schema: object } | { readonly type: string };

type ServicePage = {
  readonly summary: string;
  readonly description: string;
  readonly success: string;
  readonly body: PageBody;
  readonly errors: readonly FaultCode[];
};

function objectOf(properties: Readonly<Record<string, object>>): object {
  return { type: 'object', properties, required: Object.keys(properties) };
}

export const servicePages: Readonly<Record<'health' | 'readiness' | 'metrics' | 'openapi', ServicePage>> = {
  health: {
    summary: 'Check health',
    description: 'Checks that the process responds, and nothing else.',
    success: 'The process responds.',
    body: { name: 'HealthResult', schema: objectOf({ status: { type: 'string', const: 'ok' } }) },
    errors: [],
  },
  readiness: {
    summary: 'Check readiness',
    description:
      'Checks that the database accepts writes, its disk has free space, its schema is current, and no second server of `DATABASE_URL` accepts writes. `details.mail` says how email is sent: `smtp`, `folder` (in development without `SMTP_URL` emails are kept on this machine), or `none: …` with the reason; a service that sends no email is still ready.',
    success: 'The service is ready.',
    body: {
      name: 'ReadinessResult',
      schema: objectOf({
        status: { type: 'string', const: 'ready' },
        details: objectOf({ mail: { type: 'string', description: 'How email is sent.' } }),
      }),
    },
    errors: ['unavailable'],
  },
  metrics: {
    summary: 'Retrieve metrics',
    description:
      'Prometheus’s text format. For scrapers on the same machine, at a loopback address or `localhost`, or with `Authorization: Bearer` and the value of `METRICS_TOKEN`, if it is set.',
    success: 'The metrics.',
    body: { type: 'text/plain' },
    errors: ['unauthenticated'],
  },
  openapi: {
    summary: 'Retrieve this description',
    description: 'OpenAPI 3.1.',
    success: 'The description.',
    body: {
      name: 'OpenapiResult',
      schema: objectOf({
        openapi: { type: 'string' },
        info: { type: 'object' },
        paths: { type: 'object' },
        components: { type: 'object' },
      }),
    },
    errors: [],
  },
};

/** The schemas of the pages with JSON, by their names. */
export function pageSchemas(): Readonly<Record<string, object>> {
  return Object.fromEntries(
    Object.values(servicePages).flatMap(({ body }) =>
      'schema' in body ? [[body.name, body.schema] as const] : [],
    ),
  );
}
