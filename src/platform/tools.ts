/** Tools of features for their operations and pages: the protocol and the kit of the pages pass them on without knowing them. */

import assert from 'node:assert/strict';

/** Names a tool and its type. A feature declares it after the type. */
export class ToolKey<Tool> {
  readonly name: string;
  /** Only a type: keys of different tools are not the same. */
  declare readonly tool: Tool;

  constructor(name: string) {
    this.name = name;
  }
}

export class Tools {
  readonly #tools = new Map<ToolKey<unknown>, unknown>();
  readonly #others: Tools | null;

  /** @param others has the tools that are not added to this one. */
  constructor(others: Tools | null = null) {
    this.#others = others;
  }

  /** Adds a tool, once. */
  add<Tool>(key: ToolKey<Tool>, tool: Tool): this {
    assert(!this.#tools.has(key), `a second tool: ${key.name}`);
    this.#tools.set(key, tool);
    return this;
  }

  /** @throws AssertionError if nothing was added. */
  of<Tool>(key: ToolKey<Tool>): Tool {
    if (this.#tools.has(key)) return this.#tools.get(key) as Tool;
    assert(this.#others, `no tool: ${key.name}`);
    return this.#others.of(key);
  }
}
