/** The checks of payment providers, without requests to them. */

import { providerName } from '../../online-sales/domain/provider-names.ts';
import { listRejectedHints } from '../../online-sales/storage/provider.ts';
import type { Storage } from '../../../database/storage.ts';
import { ok, warning, type DoctorFinding } from '../../../cli/finding.ts';

/** The most stores that are named. */
const namedMax = 20;

export async function checkPayments(storage: Storage): Promise<readonly DoctorFinding[]> {
  const rejected = await storage.read(() => listRejectedHints(namedMax));
  if (rejected.length === 0)
    return [ok('payments', 'no notifications of payment providers with wrong signatures')];
  return rejected.map(({ domain, kind, since }) =>
    warning(
      'payments',
      `notifications of ${providerName(kind)} for ${domain} have had wrong signatures since ${new Date(since).toISOString()}`,
      `compare the signing secret under Settings, Online sales with that of the webhook at ${providerName(kind)}; if it is the same, others send requests to its address, which do nothing`,
    ),
  );
}
