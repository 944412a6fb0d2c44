/** The header Accept of a request. */

/** Whether a client accepts HTML by name and does not prefer JSON (RFC 9110, 12.5.1). */
export function prefersHtml(accept: string | undefined): boolean {
  const ranges = (accept ?? '').split(',').map((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice('q='.length);
    const quality = weight === undefined ? 1 : Number(weight);
    return { type, quality: quality >= 0 && quality <= 1 ? quality : 0 };
  });
  const best = (matches: (type: string) => boolean): number =>
    Math.max(0, ...ranges.filter(({ type }) => matches(type)).map(({ quality }) => quality));
  const html = best((type) => type === 'text/html' || type === 'application/xhtml+xml');
  return html > 0 && html >= best((type) => /^application\/(?:[\w.-]+\+)?json$/.test(type));
}
