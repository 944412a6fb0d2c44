/** Timers of requests. */

export interface Deadline {
  /** Is aborted at the deadline, or with the caller's signal and its reason. */
  signal: AbortSignal;
  /** Starts the time again. */
  restart(): void;
  /** Ends the timer, and forgets the caller's signal. */
  clear(): void;
  /** Clears the deadline, and ends what its signal belongs to. */
  abort(): void;
}

/** Starts a deadline. `AbortSignal.any` would keep the requests of a signal in memory as long as the signal. */
export function startDeadline(ms: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  const expire = (): void =>
    controller.abort(new DOMException(`no response within ${ms / 1_000} s`, 'TimeoutError'));
  const abort = (): void => controller.abort(outer?.reason);
  let timer = setTimeout(expire, ms);
  const clear = (): void => {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
  };
  if (outer?.aborted) abort();
  outer?.addEventListener('abort', abort);
  return {
    signal: controller.signal,
    restart() {
      clearTimeout(timer);
      timer = setTimeout(expire, ms);
    },
    clear,
    abort() {
      clear();
      controller.abort();
    },
  };
}

/** Waits. @throws the reason of the signal if it is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
