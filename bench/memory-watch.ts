/** How much memory servers come to take while they are asked. */

import type { Server } from './processes.ts';
import type { Memory } from './results.ts';

const sampleMs = 100;

/** Looks at each of some servers now and then, until it is disposed. */
export class MemoryWatch implements Disposable {
  readonly #servers: readonly Server[];
  readonly #timer: NodeJS.Timeout;
  #peak: Memory = { residentMb: 0, anonymousMb: 0 };

  constructor(servers: readonly Server[]) {
    this.#servers = servers;
    this.#timer = setInterval(() => this.#look(), sampleMs);
    this.#look();
  }

  /** The most of each that one of the servers took. */
  get peak(): Memory {
    return this.#peak;
  }

  #look(): void {
    for (const { residentMb, anonymousMb } of this.#servers.map((server) => server.memory()))
      this.#peak = {
        residentMb: Math.max(this.#peak.residentMb, residentMb),
        anonymousMb: Math.max(this.#peak.anonymousMb, anonymousMb),
      };
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
