import type { Feature } from '../../feature.ts';
import { addReportsCommands } from './cli/reports.ts';

export const booksFeature: Feature = {
  name: 'books',
  addCommands: addReportsCommands,
  loadPages: async () => ({ routes: (await import('./pages/reports.ts')).reportRoutes }),
};
