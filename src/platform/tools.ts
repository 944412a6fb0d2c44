/** What features give to their own operations, so that the protocol passes it on without knowing it. */

import assert from 'node:assert/strict';

/** Names a tool and its type. A feature declares it beside the type. */
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

  /** Adds a tool, once. */
  add<Tool>(key: ToolKey<Tool>, tool: Tool): this {
    assert(!this.#tools.has(key), `a second tool: ${key.name}`);
    this.#tools.set(key, tool);
    return this;
  }

  /** @throws AssertionError if nothing was added. */
  of<Tool>(key: ToolKey<Tool>): Tool {
    assert(this.#tools.has(key), `no tool: ${key.name}`);
    return this.#tools.get(key) as Tool;
  }
}
