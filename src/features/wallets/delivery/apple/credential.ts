/** The stored form of what signs Apple's passes. Only this file writes and reads it. */

import type { AppleCredential } from '../../domain/wallet.ts';
import { Secret } from '../../../../platform/secret.ts';

/** The text that is sealed. */
export function credentialText({ certificate, intermediate, key }: AppleCredential): string {
  return JSON.stringify({ certificate, intermediate, key: key.reveal() });
}

export function readCredential(text: string): AppleCredential {
  const { key, ...stored } = JSON.parse(text) as Omit<AppleCredential, 'key'> & { readonly key: string };
  return { ...stored, key: new Secret(key) };
}
