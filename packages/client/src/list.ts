/** Lists: a page is requested when it is needed, and only one is in memory. */

/**
 * The first page as a promise, and an iterator over the records of all pages:
 * `for await (const card of client.cards.list())`.
 */
export type List<Page, Item> = Promise<Page> &
  AsyncIterable<Item> & {
    /** The pages, the first included. */
    pages(): AsyncIterable<Page>;
  };

/** A page with the query of the next one. */
export interface Linked<Page> {
  page: Page;
  next: URLSearchParams | undefined;
}

/** A list of the records in the member `items` of its pages. `request` returns the page of a query. */
export function listOf<Page extends object>(
  request: (query: URLSearchParams) => Promise<Linked<Page>>,
  query: URLSearchParams,
  items: string,
): List<Page, unknown> {
  const first = request(query);
  const firstPage = first.then(({ page }) => page);
  async function* pages(): AsyncGenerator<Page, void, undefined> {
    let sent = query;
    // The iterator throws its error.
    firstPage.catch(() => {});
    for (let linked = await first; ; linked = await request(sent)) {
      yield linked.page;
      // The link after the last event leads to itself: later events will be there.
      if (!linked.next || linked.next.toString() === sent.toString()) return;
      sent = linked.next;
    }
  }
  return Object.assign(firstPage, {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* Reflect.get(page, items) as unknown[];
    },
  });
}

/** The query of the next page; undefined: there is none. */
export function nextQueryOf(response: Response): URLSearchParams | undefined {
  const [, target] = /<([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
  // Only the query: the token is sent to no other place.
  return target === undefined ? undefined : new URLSearchParams(target.split('?')[1] ?? '');
}
