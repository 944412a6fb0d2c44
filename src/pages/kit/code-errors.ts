/** The sentences for errors of new codes. The services have English messages. */

import { newCodeErrors } from '../../core/cards/domain/given-code.ts';
import type { Texts } from './texts.ts';

const names = [
  'length',
  'link',
  'masked',
  'repeated',
  'run',
  'few',
  'printed',
] as const satisfies readonly (keyof typeof newCodeErrors)[];

/** Returns undefined for another error. @param messages those of the field. */
export function newCodeErrorText(messages: readonly string[], text: Texts['newCodes']): string | undefined {
  const name = names.find((one) => messages.includes(newCodeErrors[one]));
  return name && text[name];
}
