/** The paths of the service's own pages: no credential, at the root and below the base path. */

export const pagePaths = {
  health: '/healthz',
  readiness: '/readyz',
  metrics: '/metrics',
  openapi: '/openapi.json',
  reference: '/docs',
  referenceStyle: '/docs/reference.css',
  problem: '/docs/problems/:code',
} as const;
