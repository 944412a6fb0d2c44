/**
 * Values for functions whose results do not matter: whatever is read from one, or returned by a call of one, is another
 * one. Some of them are null, absent or empty, as a seed decides.
 */

/** Returns a value that is used as any type. @param choose a number from 0 to 1, at random or always the same. */
export function anyValue(choose: () => number): unknown {
  const fields = new Map<PropertyKey, unknown>();
  const list = (): unknown[] => [proxy];
  const proxy: unknown = new Proxy(() => undefined, {
    apply: () => anyOrNothing(choose),
    construct: () => proxy as object,
    getPrototypeOf: () => null,
    ownKeys: () => ['prototype', 'any'],
    getOwnPropertyDescriptor: (target, key) =>
      key === 'prototype'
        ? Reflect.getOwnPropertyDescriptor(target, key)
        : { value: proxy, configurable: true, enumerable: true, writable: true },
    get(_target, key) {
      if (key === Symbol.toPrimitive) return () => 1;
      if (key === Symbol.iterator) return () => list()[Symbol.iterator]();
      if (key === 'length' || key === 'size') return 1;
      if (key === 'then' || typeof key === 'symbol') return undefined;
      const method = Reflect.get(Array.prototype, key) as unknown;
      if (typeof method === 'function' && key !== 'at' && key !== 'toString')
        return method.bind(list()) as unknown;
      if (!fields.has(key)) fields.set(key, anyOrNothing(choose));
      return fields.get(key);
    },
  });
  return proxy;
}

function anyOrNothing(choose: () => number): unknown {
  const chosen = choose();
  if (chosen < 0.7) return anyValue(choose);
  if (chosen < 0.8) return null;
  return chosen < 0.9 ? undefined : 0;
}
