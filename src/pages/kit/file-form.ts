/** Forms with a file, as browsers send them (RFC 7578). Their bytes are limited before they are read. */

import { Fault } from '../../core/domain/fault.ts';

export type FileForm = {
  readonly form: ReadonlyMap<string, string>;
  /** Null: none was chosen. */
  readonly file: Uint8Array | null;
  /** Without a folder; empty: none was chosen, or it has no name. */
  readonly fileName: string;
  /** All files by the names of their fields. */
  readonly files: ReadonlyMap<string, Uint8Array>;
};

const partsMax = 500;
const headerBytesMax = 1_000;

/** Reads the parts of a form in one pass. @throws Fault `invalid-body`. */
export function readFileForm(contentType: string, bytes: Uint8Array): FileForm {
  const boundary = /^multipart\/form-data; ?boundary="?([\w'()+,./:=?-]{1,70})"?$/i.exec(contentType)?.[1];
  if (boundary === undefined) throw new Fault('invalid-body');
  const delimiter = `\r\n--${boundary}`;
  const body = Buffer.concat([Buffer.from('\r\n'), bytes]);
  const form = new Map<string, string>();
  const files = new Map<string, Uint8Array>();
  let file: Uint8Array | null = null;
  let fileName = '';
  let at = 0;
  for (let parts = 0; parts <= partsMax && body.indexOf(delimiter, at) === at; parts += 1) {
    const start = at + delimiter.length;
    if (body.toString('latin1', start, start + 2) === '--') return { form, file, fileName, files };
    const headersEnd = body.subarray(0, start + headerBytesMax).indexOf('\r\n\r\n', start);
    const end = headersEnd < 0 ? -1 : body.indexOf(delimiter, headersEnd + 2);
    if (end < 0) break;
    const headers = body.toString('utf8', start, headersEnd);
    const content = body.subarray(Math.min(headersEnd + 4, end), end);
    const [, name, filename] =
      /^content-disposition: form-data; name="([^"]*)"(?:; filename="?([^"\r\n]*))?/im.exec(headers) ?? [];
    if (name === undefined) break;
    if (filename === undefined) form.set(name, content.toString());
    // A browser sends a file without bytes if none was chosen.
    else if (content.length > 0) {
      file = content;
      files.set(name, content);
      fileName = filename.replace(/^.*[/\\]/, '').replaceAll('%22', '"');
    }
    at = end;
  }
  throw new Fault('invalid-body');
}
