import type { Feature } from '../../feature.ts';
import { addStockCommands } from './cli/stock.ts';

export const stockFeature: Feature = {
  name: 'stock',
  addCommands: addStockCommands,
  loadPages: async () => (await import('./pages/routes.ts')).stockPages,
};
