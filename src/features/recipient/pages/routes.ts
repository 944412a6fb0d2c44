/** The pages and forms of this feature, and its other files and services. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { recipientRoutes } from './recipient.ts';
import { addRecipientWorker } from './place.ts';

export const recipientPages: FeaturePages = {
  routes: [...recipientRoutes],
  endpoints: [addRecipientWorker],
};
