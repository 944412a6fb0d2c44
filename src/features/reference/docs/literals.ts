/** JSON values as literals of programming languages. */

export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };

export type Syntax = {
  /** The brackets of an object, with the spaces inside them. */
  readonly object: readonly [open: string, close: string];
  readonly list: readonly [open: string, close: string];
  readonly member: (name: string, value: string) => string;
  readonly text: (text: string) => string;
  readonly constants: Readonly<Record<'true' | 'false' | 'null', string>>;
};

const lineLengthMax = 80;

/**
 * A literal, on one line if it is short.
 * @param layout the spaces before its first line, and before each part more than those.
 */
export function literalIn(
  syntax: Syntax,
  value: Value,
  layout: { readonly indent: number; readonly step: number } = { indent: 0, step: 2 },
): string {
  if (typeof value === 'string') return syntax.text(value);
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean' || value === null) return syntax.constants[`${value}`];
  const inner = { ...layout, indent: layout.indent + layout.step };
  const [open, close] = Array.isArray(value) ? syntax.list : syntax.object;
  const parts = Array.isArray(value)
    ? value.map((part: Value) => literalIn(syntax, part, inner))
    : Object.entries(value).map(([name, part]) => syntax.member(name, literalIn(syntax, part, inner)));
  const line = `${open}${parts.join(', ')}${close}`;
  if (parts.length === 0) return line.replaceAll(' ', '');
  if (line.length + layout.indent <= lineLengthMax && !line.includes('\n')) return line;
  const lines = parts.map((part) => `${' '.repeat(inner.indent)}${part},\n`);
  return `${open.trim()}\n${lines.join('')}${' '.repeat(layout.indent)}${close.trim()}`;
}
