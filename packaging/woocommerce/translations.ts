/** Reads the `.po` files of the plugin, and writes the binary form that WordPress loads. */

/** Translations by their originals. The empty original has the header. */
export type Messages = ReadonlyMap<string, string>;

/** Reads messages without plural forms and contexts, which the plugin does not use. @throws SyntaxError */
export function parsePo(text: string): Messages {
  const messages = new Map<string, string>();
  let field: 'msgid' | 'msgstr' | undefined;
  let [original, translation] = ['', ''];
  const keep = (): void => {
    if (field === 'msgstr') messages.set(original, translation);
  };
  for (const line of text.split('\n')) {
    const [, name, quoted] = /^(?:(msgid|msgstr) )?(".*")$/.exec(line) ?? [];
    if (quoted === undefined) {
      if (line !== '' && !line.startsWith('#')) throw new SyntaxError(`not a line of a message: ${line}`);
      continue;
    }
    if (name === 'msgid') {
      keep();
      [original, translation] = ['', ''];
    }
    if (name === 'msgid' || name === 'msgstr') field = name;
    const part = String(JSON.parse(quoted));
    if (field === 'msgid') original += part;
    else translation += part;
  }
  keep();
  return messages;
}

/** The format of GNU gettext, with originals in the order of their bytes and without a hash table. */
export function moOf(messages: Messages): Buffer {
  const pairs = [...messages]
    .filter(([, translation]) => translation !== '')
    .map(([original, translation]) => [Buffer.from(original), Buffer.from(translation)] as const)
    .toSorted(([one], [other]) => Buffer.compare(one, other));
  const headBytes = 28;
  const tableBytes = pairs.length * 8;
  const head = Buffer.alloc(headBytes + 2 * tableBytes);
  head.writeUInt32LE(0x950412de, 0);
  head.writeUInt32LE(pairs.length, 8);
  head.writeUInt32LE(headBytes, 12);
  head.writeUInt32LE(headBytes + tableBytes, 16);
  head.writeUInt32LE(headBytes + 2 * tableBytes, 24);
  const texts: Buffer[] = [];
  let at = head.length;
  for (const side of [0, 1] as const)
    for (const [index, pair] of pairs.entries()) {
      const text = pair[side];
      const entry = headBytes + side * tableBytes + index * 8;
      head.writeUInt32LE(text.length, entry);
      head.writeUInt32LE(at, entry + 4);
      texts.push(text, Buffer.alloc(1));
      at += text.length + 1;
    }
  return Buffer.concat([head, ...texts]);
}
