/** Requests to the API of the stores: collected in memory and written periodically, not with every request. */

import type { ApiRequest } from '../../../core/requests/domain/api-request.ts';
import type { NewRequests } from '../service/api-requests.ts';

export type RecordedRequests = {
  note(storeId: number, request: ApiRequest): void;
  /** Returns the requests since the last call, by store. */
  take(): ReadonlyMap<number, NewRequests>;
};

/** Further requests are dropped, and counted, until the next `take`. */
export function recordedRequests({
  requestsMax,
  requestsOfStoreMax,
}: {
  readonly requestsMax: number;
  readonly requestsOfStoreMax: number;
}): RecordedRequests {
  let count = 0;
  let byStore = new Map<number, { requests: ApiRequest[]; dropped: number }>();
  return {
    note(storeId, request) {
      let ofStore = byStore.get(storeId);
      if (!ofStore) {
        ofStore = { requests: [], dropped: 0 };
        byStore.set(storeId, ofStore);
      }
      if (count >= requestsMax || ofStore.requests.length >= requestsOfStoreMax) {
        ofStore.dropped += 1;
        return;
      }
      ofStore.requests.push(request);
      count += 1;
    },
    take() {
      const taken = byStore;
      byStore = new Map();
      count = 0;
      return taken;
    },
  };
}
