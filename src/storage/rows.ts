/**
 * Rows as objects, made of the lists of values that a database hands back.
 *
 * Objects that get one property after another are slow to make and slow to read, and so are the dictionaries that
 * SQLite's driver makes: a card read that way costs it 5.5 µs, and 2.8 µs with a literal that V8 knows the shape of.
 * What writes such a literal for any list of columns is a function that is compiled for it.
 */

type Row = Readonly<Record<string, unknown>>;

/** Makes rows of values in the order of these columns. Of two columns with one name the last counts. */
export function rowMaker(columns: readonly string[]): (values: readonly unknown[]) => Row {
  const fields = columns.map((name, index) => `${JSON.stringify(name)}: values[${index}]`);
  // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- The names are those of statements in this folder, and quoted.
  return new Function('values', `return { ${fields.join(', ')} };`) as (values: readonly unknown[]) => Row;
}

/**
 * Whether the columns of a statement stay what they are and where they are, whatever another process migrates: of
 * `*` that is not so.
 */
export function namesItsColumns(text: string): boolean {
  return !text.replaceAll('count(*)', '').includes('*');
}
