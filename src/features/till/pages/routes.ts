/** The pages and forms of this feature, and its other files and services. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { tillRoutes } from './till.ts';
import { tillSaleRoutes } from './sales.ts';
import { tillDeviceRoutes } from './devices.ts';
import { tillDayRoutes } from './day.ts';
import { tillAppRoutes, addTillWorker } from './app.ts';

export const tillPages: FeaturePages = {
  routes: [...tillRoutes, ...tillSaleRoutes, ...tillDeviceRoutes, ...tillDayRoutes, ...tillAppRoutes],
  endpoints: [addTillWorker],
};
