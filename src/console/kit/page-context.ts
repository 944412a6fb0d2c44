/** The person who sent a request of a page, for what the person changes. */

import type { ByStaff } from '../../service/staff-actions/as-staff.ts';
import type { StaffRequest } from './route.ts';

export function byOf({ signedIn: { store, member, session } }: Pick<StaffRequest, 'signedIn'>): ByStaff {
  return { store, member, tillId: session.tillId };
}
