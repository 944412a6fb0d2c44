/** The output of commands: a table for people, or JSON with `--json`. */

type Cell = string | number | boolean | null;
export type OutputRow = Readonly<Record<string, Cell>>;

export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value, null, 2));
}

/** Prints rows as a table with aligned columns. */
export function printTable(rows: readonly OutputRow[], { none }: { readonly none: string }): void {
  const [first] = rows;
  if (!first) {
    print(none);
    return;
  }
  const names = Object.keys(first);
  const lines = [
    names.map((name) => name.toUpperCase().replaceAll('_', ' ')),
    ...rows.map((row) => names.map((name) => format(row[name]))),
  ];
  const widths = names.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  for (const line of lines)
    print(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
}

/** Prints the fields of a record, one per line. */
export function printFields(row: OutputRow): void {
  const width = Math.max(...Object.keys(row).map((name) => name.length));
  for (const [name, value] of Object.entries(row))
    print(`${name.replaceAll('_', ' ').padEnd(width)}  ${format(value)}`);
}

function format(value: Cell | undefined): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value);
}
