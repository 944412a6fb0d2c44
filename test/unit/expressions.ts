/** Finds the regular expressions of a source file, and those that take quadratic time. */

import { parseSync, Visitor } from 'oxc-parser';

export type Expression = { readonly source: string; readonly flags: string };

/** Returns the regular expression literals of a file, and strings that start or end like a pattern. */
export function expressionsOf(path: string, text: string): readonly Expression[] {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} cannot be parsed`);
  const found: Expression[] = [];
  new Visitor({
    Literal(node) {
      if ('regex' in node) found.push({ source: node.regex.pattern, flags: node.regex.flags });
      else if (typeof node.value === 'string' && isPattern(node.value))
        found.push({ source: node.value, flags: 'u' });
    },
    TemplateElement({ value: { cooked } }) {
      if (cooked !== null && isPattern(cooked)) found.push({ source: cooked, flags: 'u' });
    },
  }).visit(program);
  return found;
}

function isPattern(text: string): boolean {
  return text.length > 1 && (text.startsWith('^') || /[\])}*+?\w]\$$/.test(text));
}

/** One part of an expression with its quantifier. */
type Term = {
  readonly kind: 'start' | 'end' | 'look' | 'group' | 'symbol';
  /** The source without its quantifier. */
  readonly text: string;
  readonly min: number;
  readonly max: number;
  /** Empty except for groups. */
  readonly alternatives: readonly Alternative[];
};

type Alternative = readonly Term[];

/** Returns the alternatives of an expression. @throws SyntaxError if it is invalid. */
function alternativesOf({ source, flags }: Expression): readonly Alternative[] {
  // The engine validates the syntax. The code below only splits a valid expression.
  void new RegExp(source, flags);
  let at = 0;
  const read = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [text = ''] = pattern.exec(source) ?? [];
    at += text.length;
    return text;
  };
  const readAlternatives = (): readonly Alternative[] => {
    const alternatives: Term[][] = [[]];
    while (at < source.length && source[at] !== ')') {
      if (source[at] === '|') {
        at += 1;
        alternatives.push([]);
      } else alternatives.at(-1)?.push(readTerm());
    }
    return alternatives;
  };
  const readTerm = (): Term => {
    const start = at;
    const bare = readBare();
    const text = source.slice(start, at);
    const quantifier = read(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/y);
    return { ...bare, text, ...timesOf(quantifier) };
  };
  const readBare = (): Pick<Term, 'kind' | 'alternatives'> => {
    const none: readonly Alternative[] = [];
    if (read(/\^/y) !== '') return { kind: 'start', alternatives: none };
    if (read(/\$/y) !== '') return { kind: 'end', alternatives: none };
    if (read(/\\[bB]/y) !== '') return { kind: 'look', alternatives: none };
    const opening = read(/\((?:\?(?:<?[=!]|:|<\w+>|[ims-]+:))?/y);
    if (opening !== '') {
      const alternatives = readAlternatives();
      at += 1;
      return { kind: /^\(\?<?[=!]/.test(opening) ? 'look' : 'group', alternatives };
    }
    const symbol = read(/\[(?:\\.|[^\]\\])*\]|\\[pPu]\{[^}]*\}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\.|./suy);
    if (symbol === '') throw new SyntaxError(`${source} at ${at}`);
    return { kind: 'symbol', alternatives: none };
  };
  return readAlternatives();
}

function timesOf(quantifier: string): Pick<Term, 'min' | 'max'> {
  const unbounded = Number.POSITIVE_INFINITY;
  switch (quantifier.charAt(0)) {
    case '':
      return { min: 1, max: 1 };
    case '?':
      return { min: 0, max: 1 };
    case '*':
      return { min: 0, max: unbounded };
    case '+':
      return { min: 1, max: unbounded };
    default: {
      // `{2}` is `{2,2}`, and `{2,}` has no maximum.
      const [min = '', max = min] = quantifier.slice(1).split(/[,}]/, quantifier.includes(',') ? 2 : 1);
      return { min: Number(min), max: max === '' ? unbounded : Number(max) };
    }
  }
}

type State = {
  /** A match can start in one place only: after `^`. */
  readonly isAnchored: boolean;
  /** An unbounded repetition precedes this place, in a match that can start anywhere. */
  readonly isRepeated: boolean;
};

/**
 * Whether an expression has an unbounded repetition and then another part, in a match that can start anywhere.
 * Such an expression takes quadratic time: it reads the rest of a long run from each of its places.
 */
export function triesEveryPlace(expression: Expression): boolean {
  let isFound = false;
  const walk = (alternatives: readonly Alternative[], before: State): State => {
    const states = alternatives.map((terms) => terms.reduce(step, before));
    return {
      isAnchored: states.every((state) => state.isAnchored),
      isRepeated: states.some((state) => state.isRepeated),
    };
  };
  const step = (state: State, { kind, alternatives, min, max }: Term): State => {
    if (kind === 'start') return { ...state, isAnchored: true };
    if (kind === 'look') return state;
    if (kind === 'end' || (kind === 'symbol' && min > 0)) isFound ||= state.isRepeated;
    const within = kind === 'group' ? walk(alternatives, state) : state;
    const isUnbounded = max === Number.POSITIVE_INFINITY && !within.isAnchored;
    const isAnchored = min > 0 ? within.isAnchored : state.isAnchored;
    return { isAnchored, isRepeated: within.isRepeated || isUnbounded };
  };
  // A sticky expression is matched at one place.
  walk(alternativesOf(expression), { isAnchored: expression.flags.includes('y'), isRepeated: false });
  return isFound;
}

/** Returns some characters that each part of an expression matches, in order. */
export function samplesOf(expression: Expression): readonly string[] {
  const candidates = Array.from('aZ0 -.,:/@"\\_=*+()<>{}%#é\n\t\u00a0\u0301');
  const symbols = (alternatives: readonly Alternative[]): readonly string[] =>
    alternatives.flat().flatMap(({ kind, text, alternatives: inner }) => {
      if (kind !== 'symbol') return symbols(inner);
      const one = new RegExp(`^(?:${text})$`, expression.flags.replaceAll(/[gy]/g, ''));
      const [first, second] = candidates.filter((candidate) => one.test(candidate));
      if (first !== undefined) return second === undefined ? [first] : [first, second];
      return [text.replace(/^\\/, '')];
    });
  return symbols(alternativesOf(expression));
}
