/** The JSON of a certificate authority: objects whose fields have the expected types. */

import { AcmeProblem } from './problem.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

function malformed(what: string): AcmeProblem {
  return new AcmeProblem('malformedResponse', `the response of the authority has ${what}`);
}

/** @throws AcmeProblem if the text is not the JSON of an object. */
export function parseResponseObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('no JSON');
  }
  return objectOf(value);
}

/** @throws AcmeProblem if the value is not an object. */
export function objectOf(value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed('no object');
  return value as JsonObject;
}

/** The text of a field; undefined: there is none. */
export function optionalText(object: JsonObject, name: string): string | undefined {
  const value = object[name];
  return typeof value === 'string' ? value : undefined;
}

/** @throws AcmeProblem if the field is not a text. */
export function textIn(object: JsonObject, name: string): string {
  const text = optionalText(object, name);
  if (text === undefined) throw malformed(`no ${name}`);
  return text;
}

/** The objects in a field that is a list. @throws AcmeProblem if it is not, or has more than `most`. */
export function objectListIn(object: JsonObject, name: string, most: number): readonly JsonObject[] {
  return listIn(object, name, most).map(objectOf);
}

/** The texts in a field that is a list. @throws AcmeProblem if it is not, or has more than `most`. */
export function textListIn(object: JsonObject, name: string, most: number): readonly string[] {
  return listIn(object, name, most).map((value) => {
    if (typeof value !== 'string') throw malformed(`no texts in ${name}`);
    return value;
  });
}

function listIn(object: JsonObject, name: string, most: number): readonly unknown[] {
  const value = object[name];
  if (!Array.isArray(value) || value.length > most) throw malformed(`no list ${name}`);
  return value;
}
