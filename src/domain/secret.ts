/**
 * Secrets: values that must never reach a log, an error or an event.
 *
 * The type carries the rule. Whatever prints, serialises or concatenates a Secret gets
 * `[redacted]`; only an explicit `reveal()` gives the value, and every such call is easy to find.
 */

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself: for the answer that hands it out, and for hashing. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[redacted]';
  }

  toJSON(): string {
    return '[redacted]';
  }

  /** What `console.log` and `util.inspect` show. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[redacted]';
  }
}
