import type { Feature } from '../../feature.ts';
import { addCustomerCommands } from './cli/customer.ts';

export const privacyFeature: Feature = {
  name: 'privacy',
  addCommands: addCustomerCommands,
};
