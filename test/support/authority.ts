/**
 * A certificate authority on this machine: Pebble, the test server of Let's Encrypt, with its DNS server (Debian package
 * `pebble`).
 */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from './deadline.ts';
import { certificate, certificateKey } from './certificate.ts';
import { freePorts } from './postgres-port.ts';
import { startProgram, type Program } from './programs.ts';
import { makeScratchFolder } from './scratch.ts';
import { getSecurely } from './secure-client.ts';

export type Authority = AsyncDisposable & {
  /** The environment of a service that uses the authority for `domain`, with free ports. */
  readonly environment: Readonly<Record<string, string>>;
  readonly origin: string;
  readonly domain: string;
  readonly httpsPort: number;
  readonly httpPort: number;
  readonly dnsServer: string;
  /** The root of its certificates, in PEM. */
  readonly root: () => Promise<string>;
  /** Sets the addresses (A) of a name. Without any, it has no address. */
  readonly setAddresses: (name: string, addresses: readonly string[]) => Promise<void>;
  /** Sends a request to the management of the DNS server. */
  readonly manageDns: (path: string, body: object) => Promise<void>;
  readonly output: () => string;
};

/** @param validSeconds of its certificates. */
export async function startAuthority({
  validSeconds = 3_600,
  rejectedNonces = 5,
  domain = 'cards.flowers.example',
  ports = {},
}: {
  readonly validSeconds?: number;
  /** Percent. */
  readonly rejectedNonces?: number;
  readonly domain?: string;
  /** The ports of the domain and of its DNS server. Default: free ones. */
  readonly ports?: { readonly http?: number; readonly https?: number; readonly dns?: number };
} = {}): Promise<Authority> {
  const folder = makeScratchFolder('largesse-authority-');
  const [port, managementPort, dnsManagementPort, ...free] = await freePorts();
  const [dnsPort = 0, httpPort = 0, httpsPort = 0] = [ports.dns, ports.http, ports.https].map(
    (given, place) => given ?? free[place],
  );
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const authorityFile = file('authority.pem', certificate);
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: authorityFile,
    privateKey: file('authority.key', certificateKey),
    httpPort,
    tlsPort: httpsPort,
    certificateValidityPeriod: validSeconds,
  };
  const config = file('pebble.json', JSON.stringify({ pebble }));
  const dnsServer = `127.0.0.1:${dnsPort}`;
  const dnsManagement = `http://127.0.0.1:${dnsManagementPort}`;
  const programs: Program[] = [
    startProgram('pebble-challtestsrv', [
      '-defaultIPv6', '', '-http01', '', '-https01', '', '-tlsalpn01', '',
      '-dns01', dnsServer, '-management', `127.0.0.1:${dnsManagementPort}`,
    ]),
    startProgram('pebble', ['-config', config, '-dnsserver', dnsServer], {
      environment: { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: String(rejectedNonces), PEBBLE_AUTHZREUSE: '0' },
    }),
  ]; // prettier-ignore
  const stop = async (): Promise<void> => {
    for (const program of programs) await program[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  };
  const directory = `https://localhost:${port}/dir`;
  const origin = `https://${domain}:${httpsPort}`;
  const manageDns = async (path: string, body: object): Promise<void> => {
    const response = await fetch(`${dnsManagement}/${path}`, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
  };
  try {
    const deadline = deadlineIn(20_000);
    for (;;) {
      try {
        await getSecurely(directory, { ca: certificate });
        await manageDns('clear-a', { host: 'nothing.example.' });
        break;
      } catch (error) {
        if (deadline.isOver()) throw error;
        await wait(50);
      }
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    environment: {
      PUBLIC_URL: origin,
      HTTPS: 'auto',
      HTTPS_PORT: String(httpsPort),
      HTTP_PORT: String(httpPort),
      ACME_URL: directory,
      ACME_CA_FILE: authorityFile,
    },
    origin,
    domain,
    httpsPort,
    httpPort,
    dnsServer,
    async root() {
      const { text } = await getSecurely(`https://localhost:${managementPort}/roots/0`, { ca: certificate });
      return text;
    },
    async setAddresses(name, addresses) {
      await manageDns('clear-a', { host: `${name}.` });
      if (addresses.length > 0) await manageDns('add-a', { host: `${name}.`, addresses });
      else await manageDns('set-default-ipv4', { ip: '' });
    },
    manageDns,
    output: () => programs.map((program) => program.output() + program.errors()).join('\n'),
    [Symbol.asyncDispose]: stop,
  };
}

/** The options of Node.js for a process that uses a DNS server. */
export function dnsOption(server: string): string {
  const code = `import{setServers}from"node:dns";setServers(["${server}"])`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}
