/** The pages and forms of this feature. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { cardsRoutes } from './list.ts';
import { cardRoutes } from './card.ts';
import { cardActionRoutes } from './actions.ts';
import { issueRoutes } from './issue.ts';

export const cardPagesPages: FeaturePages = {
  routes: [...cardsRoutes, ...cardRoutes, ...cardActionRoutes, ...issueRoutes],
};
