import { ApiError } from '../packages/client/src/index.ts';

/** Waits for a request that must fail. Returns the error's code and messages. */
export async function rejected(request: Promise<unknown>): Promise<string> {
  const error: unknown = await request.then(
    () => new Error('a request was not rejected'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw error;
  return `${error.code} ${JSON.stringify(error.problem?.errors)}`;
}
