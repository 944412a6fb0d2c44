/** Stack traces of bundled code name its sources. A source map is read when the first stack with its file is. */

import { SourceMap, type SourceMapPayload } from 'node:module';
import { programFileOf, readProgramFile, runsSources } from './program-files.ts';

/** Null: the file has no map. */
const maps = new Map<string, SourceMap | null>();

function mapOf(file: string): SourceMap | null {
  const known = maps.get(file);
  if (known !== undefined) return known;
  let map: SourceMap | null = null;
  try {
    map = new SourceMap(JSON.parse(readProgramFile(`${file}.map`).toString()) as SourceMapPayload);
  } catch {
    // A stack trace with the positions of the bundle is better than another error.
  }
  maps.set(file, map);
  return map;
}

/** A frame as V8 prints it, with the position in the source. */
function frameText(frame: NodeJS.CallSite & { toString(): string }): string {
  const text = frame.toString();
  const script = frame.getScriptNameOrSourceURL();
  const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
  const file = script === null ? null : programFileOf(script);
  if (script === null || file === null || line === null || column === null) return text;
  const entry = mapOf(file)?.findEntry(line - 1, column - 1);
  if (!entry || !('originalSource' in entry)) return text;
  // The names of functions are those of the bundle, which are short.
  const source = entry.originalSource.replace(/^(?:\.\.\/)+/, '');
  return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

/** Makes the stack traces of this thread name sources. Nothing changes if the sources run. */
export function nameSourcesInStacks(): void {
  if (runsSources) return;
  Error.prepareStackTrace = (error, frames) =>
    [String(error), ...frames.map((frame) => `    at ${frameText(frame)}`)].join('\n');
}
