/** Every page and form, and the other files and services that the pages use. */

import { features } from '../features.ts';
import { morePage } from '../pages/kit/page.ts';
import type { ConsoleRoute } from '../pages/kit/route.ts';
import type { FeaturePages } from '../pages/kit/server.ts';

const moreRoute: ConsoleRoute = {
  method: 'GET',
  path: '/more',
  access: 'staff',
  handle: (services, request) => Promise.resolve({ status: 200, body: morePage(services, request) }),
};

/** Loads the pages of all features. */
export async function loadPages(): Promise<Required<FeaturePages>> {
  const pages = await Promise.all(features.map(async ({ loadPages: load }) => await load?.()));
  return {
    routes: [...pages.flatMap((each) => each?.routes ?? []), moreRoute],
    endpoints: pages.flatMap((each) => each?.endpoints ?? []),
  };
}
