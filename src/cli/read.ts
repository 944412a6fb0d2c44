/** Parsers of arguments that several commands have in common. */

import { InvalidArgumentError } from 'commander';
import { parseDomain } from '../core/stores/domain/store.ts';

export function readDomain(text: string): string {
  const domain = parseDomain(text);
  if (!domain.ok) throw new InvalidArgumentError(`A domain ${domain.error}.`);
  return domain.value;
}

/** A name that is shown in lists. */
export function readName(text: string): string {
  if (!/^[^\p{Cc}]{1,200}$/u.test(text))
    throw new InvalidArgumentError('It must have 1 to 200 characters on one line.');
  return text;
}

/** Returns a parser of ids. @param list the command that shows them. */
export function idParser(list: string): (text: string) => number {
  return (text) => {
    const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!Number.isSafeInteger(id))
      throw new InvalidArgumentError(`It must be an id that largesse ${list} shows.`);
    return id;
  };
}
