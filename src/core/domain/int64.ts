/** The highest integer that both engines store. */
export const int64Max = 2n ** 63n - 1n;
