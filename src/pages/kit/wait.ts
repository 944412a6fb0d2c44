/** Waits for work that can take long, such as a backup, before a page is shown. */

/** A person waits so long for a page that shows the result. After it, the page shows that the work goes on. */
const waitMaxMs = 10_000;

/** Waits until the work ends, or a person has waited long enough. @throws what the work throws until then. */
export async function waitShortly(work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMaxMs);
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
