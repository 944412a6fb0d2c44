/** The alerting rules and the dashboard that operators install. */

import { readFileSync } from 'node:fs';

export const rulesFile = 'deploy/prometheus/largesse.rules.yml';
export const rulesTestFile = 'deploy/prometheus/largesse.test.yml';
const dashboardFile = 'deploy/grafana/largesse.json';

type Panel = { readonly title: string; readonly targets?: readonly { readonly expr: string }[] };

type Dashboard = {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
  readonly annotations: { readonly list: readonly { readonly expr?: string }[] };
};

/** The queries of the dashboard, with values for the variables of Grafana. */
export function dashboardQueries(): readonly string[] {
  const { panels, templating, annotations } = JSON.parse(readFileSync(dashboardFile, 'utf8')) as Dashboard;
  const queries = [
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...annotations.list.flatMap(({ expr }) => (expr === undefined ? [] : [expr])),
    // `label_values(query, label)` is a function of Grafana.
    ...templating.list.flatMap(
      ({ definition }) => /^label_values\((.+), \w+\)$/.exec(definition ?? '')?.[1] ?? [],
    ),
  ];
  return queries.map((query) =>
    query.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'largesse').replaceAll('$instance', '.*'),
  );
}
