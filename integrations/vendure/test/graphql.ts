/** A client of a GraphQL API, with the session of one person. */

export type GraphqlClient = {
  /** Sends an operation, and returns its `data`. @throws Error for a GraphQL error, or a lost connection. */
  send: <Data>(operation: string, variables?: Readonly<Record<string, unknown>>) => Promise<Data>;
};

/** @param urlOf the URL of the API, which can change when its server starts again. */
export function graphqlClient(urlOf: () => string): GraphqlClient {
  let session: string | null = null;
  return {
    async send<Data>(query: string, variables = {}) {
      const response = await fetch(urlOf(), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'apollo-require-preflight': 'true',
          ...(session !== null && { authorization: `Bearer ${session}` }),
        },
        body: JSON.stringify({ query, variables }),
      });
      session = response.headers.get('vendure-auth-token') ?? session;
      const { data, errors } = (await response.json()) as {
        readonly data?: Data;
        readonly errors?: readonly { readonly message: string }[];
      };
      if (errors?.[0] || !data) throw new Error(errors?.[0]?.message ?? `status ${response.status}`);
      return data;
    },
  };
}
