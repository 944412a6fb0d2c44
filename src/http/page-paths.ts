/** The paths of the service's own pages, at the root and below the base path. They need no credential. */

export const pagePaths = {
  health: '/healthz',
  readiness: '/readyz',
  metrics: '/metrics',
  openapi: '/openapi.json',
  reference: '/docs',
  referenceMarkdown: '/docs.md',
  referencePage: '/docs/:page',
  llms: '/llms.txt',
  llmsFull: '/llms-full.txt',
  problem: '/docs/problems/:code',
} as const;
